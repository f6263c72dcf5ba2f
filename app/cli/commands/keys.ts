import { z } from 'zod';
import { SigningPurpose } from '../../../signer/protocol/protocol.ts';
import { KeyId, Moment } from '../../http/bodies/wire.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';
import { encryptionKeysUsage, runEncryptionVerb } from './encryption-keys.ts';
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
  imported: z.boolean(),
  state: z.string(),
  fingerprint: z.string(),
  registeredAt: z.string(),
  activatedAt: z.string().nullable(),
  retiredAt: z.string().nullable(),
  compromisedSince: z.string().nullable(),
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
       probatio keys adopt KEYID …
       probatio keys compromise KEYID --since TIME [--successor KEYID] …
       probatio keys create encryption …
       probatio keys generations|escrow …

Lists and rotates the signing keys in the HSM through a running app. To rotate a key, create its
successor, compare and publish the fingerprint, back up the HSM, and activate the successor 310
seconds later.

  list               prints every key that ever existed: state, validity and fingerprint
  create             creates the next key of a purpose, which signs nothing yet
  activate           makes this key the active key, and retires its predecessor for good
  retire             retires a key that was never activated
  adopt              makes an imported key usable, which is called imported for ever
  compromise         records that somebody else may have this key since TIME: of what it signed,
                     only what the vault itself holds from before stays valid
${encryptionKeysUsage}
  --since            that instant, in ISO 8601 UTC such as 2026-11-23T08:00:00Z; it may be repeated
                     with an earlier one
  --successor        the created key that becomes active in place of an active key
  --predecessor-lost activates the key at once because the HSM lost its predecessor, which cannot
                     sign the key's record; only the published fingerprint vouches for the key
  --json             prints the response of the app unchanged
${internalApiUsage}`,
  run: runVerb,
};

async function runVerb([verb = '', ...args]: readonly string[]): Promise<string> {
  const ran = runEncryptionVerb([verb, ...args]);
  if (ran !== undefined) return ran;
  const work = verbs.get(verb);
  if (work === undefined) {
    throw new UsageError(`use keys with one of: ${[...verbs.keys()].join(', ')}`);
  }
  const [first = '', ...others] = args;
  const takesName = verb !== 'list';
  const { json = false, ...values } = parseOptions(takesName ? others : args, {
    json: { type: 'boolean' },
    'predecessor-lost': { type: 'boolean' },
    since: { type: 'string' },
    successor: { type: 'string' },
    ...internalApiOptions,
  });
  const { 'predecessor-lost': predecessorLost = false, since, successor, ...connection } = values;
  if (predecessorLost && verb !== 'activate') {
    throw new UsageError('--predecessor-lost is an option of activate only');
  }
  if ((since ?? successor) !== undefined && verb !== 'compromise') {
    throw new UsageError('--since and --successor are options of compromise only');
  }
  const ask = work(takesName ? first : '', { predecessorLost, since, successor });
  const answer = await ask(await openInternalApi(connection));
  return json ? `${answer}\n` : describe(answer);
}

interface VerbOptions {
  readonly predecessorLost: boolean;
  readonly since: string | undefined;
  readonly successor: string | undefined;
}

/** Prepares the request of a verb. Throws UsageError for an invalid purpose, key id or time. */
type Verb = (name: string, options: VerbOptions) => (api: InternalApi) => Promise<string>;

const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ['list', () => (api) => api.ask({ method: 'GET', path })],
  ['create', create],
  [
    'activate',
    (name, { predecessorLost }) =>
      change(name, 'activate', predecessorLost ? { predecessorLost: 'true' } : {}),
  ],
  ['retire', (name) => change(name, 'retire', {})],
  ['adopt', (name) => change(name, 'adopt', {})],
  ['compromise', compromise],
]);

function create(purpose: string) {
  if (!SigningPurpose.safeParse(purpose).success) {
    throw new UsageError(`the purpose must be one of: ${SigningPurpose.options.join(', ')}`);
  }
  return (api: InternalApi) => api.ask({ method: 'POST', path, json: { purpose } });
}

function change(
  id: string,
  what: 'activate' | 'retire' | 'adopt',
  query: Readonly<Record<string, string>>,
) {
  assertKeyId(id);
  return (api: InternalApi) => api.ask({ method: 'POST', path: `${path}/${id}/${what}`, query });
}

function compromise(id: string, { since, successor }: VerbOptions) {
  assertKeyId(id);
  if (successor !== undefined) assertKeyId(successor);
  if (!Moment.safeParse(since).success) {
    throw new UsageError('--since must be an instant in UTC such as 2026-11-23T08:00:00Z');
  }
  const json = { since, ...(successor === undefined ? {} : { successor }) };
  return (api: InternalApi) => api.ask({ method: 'POST', path: `${path}/${id}/compromise`, json });
}

function assertKeyId(id: string): void {
  if (!KeyId.safeParse(id).success) throw new UsageError('KEYID must be 32 lowercase hex digits');
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
  const { purpose, generation, imported, state, activatedAt, retiredAt, record } = key;
  const { compromisedSince: since } = key;
  const signedBy = record?.hsmKeyId === key.keyId ? 'itself' : record?.hsmKeyId;
  const signature = signedBy === undefined ? 'not signed yet' : `signed by ${signedBy}`;
  return [
    `${key.keyId}  ${purpose}-${generation}  ${state}${imported ? '  imported' : ''}`,
    `  fingerprint  ${key.fingerprint}`,
    `  registered   ${key.registeredAt}, ${signature}`,
    ...(activatedAt === null ? [] : [`  active from  ${activatedAt}`]),
    ...(retiredAt === null ? [] : [`  retired      ${retiredAt}`]),
    ...(since === null ? [] : [`  compromised  since ${since}`]),
    '',
  ].join('\n');
}
