import { z } from 'zod';
import { SigningPurpose } from '../../../signer/protocol/protocol.ts';
import { KeyId } from '../../http/bodies/wire.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';
import {
  internalApiOptions,
  internalApiUsage,
  openInternalApi,
  type InternalApi,
} from '../internal-api.ts';

/** The properties of a signing key that are printed. */
const Key = z.object({
  keyId: z.string(),
  purpose: z.string(),
  generation: z.int(),
  state: z.string(),
  fingerprint: z.string(),
  registeredAt: z.string(),
  activatedAt: z.string().nullable(),
  retiredAt: z.string().nullable(),
  record: z.object({ hsmKeyId: z.string() }).nullable(),
});
type Key = z.output<typeof Key>;

/** A response of the app: all signing keys, or the one that was changed. */
const Answer = z.union([
  z.object({ keys: z.array(Key) }),
  Key.transform((key) => ({ keys: [key] })),
]);

const path = 'v1/internal/keys';

export const keys: Command = {
  usage: `usage: probatio keys list [--json] [--url URL] [--key-file FILE]
       probatio keys create audit|token …
       probatio keys activate KEYID [--predecessor-lost] …
       probatio keys retire KEYID …

Lists and rotates the signing keys in the HSM through a running app. To rotate a key, create its
successor, compare and publish the fingerprint, back up the HSM, and activate the successor 310
seconds later.

  list               prints every key that ever existed: state, validity and fingerprint
  create             creates the next key of a purpose, which signs nothing yet
  activate           makes this key the active key, and retires its predecessor for good
  retire             retires a key that was never activated

  --predecessor-lost activates the key at once because the HSM lost its predecessor, which cannot
                     sign the key's record; only the published fingerprint vouches for the key
  --json             prints the response of the app unchanged
${internalApiUsage}`,
  run: runVerb,
};

async function runVerb([verb = '', ...args]: readonly string[]): Promise<string> {
  const work = verbs.get(verb);
  if (work === undefined) {
    throw new UsageError(`use keys with one of: ${[...verbs.keys()].join(', ')}`);
  }
  const [first = '', ...others] = args;
  const takesName = verb !== 'list';
  const {
    json = false,
    'predecessor-lost': predecessorLost = false,
    ...values
  } = parseOptions(takesName ? others : args, {
    json: { type: 'boolean' },
    'predecessor-lost': { type: 'boolean' },
    ...internalApiOptions,
  });
  if (predecessorLost && verb !== 'activate') {
    throw new UsageError('--predecessor-lost is an option of activate only');
  }
  const ask = work(takesName ? first : '', predecessorLost);
  const answer = await ask(await openInternalApi(values));
  return json ? `${answer}\n` : describe(answer);
}

/** Prepares the request of a verb. Throws UsageError for an invalid purpose or key id. */
type Verb = (name: string, predecessorLost: boolean) => (api: InternalApi) => Promise<string>;

const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ['list', () => (api) => api.ask({ method: 'GET', path })],
  ['create', create],
  [
    'activate',
    (name, predecessorLost) =>
      change(name, 'activate', predecessorLost ? { predecessorLost: 'true' } : {}),
  ],
  ['retire', (name) => change(name, 'retire', {})],
]);

function create(purpose: string) {
  if (!SigningPurpose.safeParse(purpose).success) {
    throw new UsageError(`the purpose must be one of: ${SigningPurpose.options.join(', ')}`);
  }
  return (api: InternalApi) => api.ask({ method: 'POST', path, json: { purpose } });
}

function change(id: string, what: 'activate' | 'retire', query: Readonly<Record<string, string>>) {
  if (!KeyId.safeParse(id).success) throw new UsageError('KEYID must be 32 lowercase hex digits');
  return (api: InternalApi) => api.ask({ method: 'POST', path: `${path}/${id}/${what}`, query });
}

/** Formats a response as one paragraph per key. */
function describe(answer: string): string {
  return parseAnswer(answer).keys.map(describeKey).join('\n');
}

function parseAnswer(answer: string): z.output<typeof Answer> {
  try {
    return Answer.parse(JSON.parse(answer));
  } catch (cause) {
    throw new Error('the response is not from a vault: check --url', { cause });
  }
}

function describeKey(key: Key): string {
  const { purpose, generation, state, activatedAt, retiredAt, record } = key;
  const signedBy = record?.hsmKeyId === key.keyId ? 'itself' : record?.hsmKeyId;
  const signature = signedBy === undefined ? 'not signed yet' : `signed by ${signedBy}`;
  return [
    `${key.keyId}  ${purpose}-${generation}  ${state}`,
    `  fingerprint  ${key.fingerprint}`,
    `  registered   ${key.registeredAt}, ${signature}`,
    ...(activatedAt === null ? [] : [`  active from  ${activatedAt}`]),
    ...(retiredAt === null ? [] : [`  retired      ${retiredAt}`]),
    '',
  ].join('\n');
}
