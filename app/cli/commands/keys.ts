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

/** What is shown of a key. */
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

/** All keys, or the one that something was done to. */
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

Shows and exchanges the keys in the HSM through a running app. To exchange one: create its successor,
compare and publish the fingerprint, back up the HSM, and activate it 310 seconds later.

  list               every key there ever was: state, validity and fingerprint
  create             makes the next key of a purpose; it signs nothing yet
  activate           signs with this key from now on, and never again with its predecessor
  retire             gives up a key that was never activated

  --predecessor-lost the HSM lost the active key, which can vouch for no other: activates this one at
                     once, trusted by its published fingerprint alone
  --json             prints what the app answers
${internalApiUsage}`,
  async run([verb = '', ...args]) {
    const work = verbs.get(verb);
    if (work === undefined) {
      throw new UsageError(`what there is to do with keys: ${[...verbs.keys()].join(', ')}`);
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
      throw new UsageError('--predecessor-lost is said of a key that is activated');
    }
    const ask = work(takesName ? first : '', predecessorLost);
    const answer = await ask(await openInternalApi(values));
    return json ? `${answer}\n` : describe(answer);
  },
};

/** What is asked of the app. Throws UsageError where the name is none. */
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
    throw new UsageError(`the purposes are: ${SigningPurpose.options.join(', ')}`);
  }
  return (api: InternalApi) => api.ask({ method: 'POST', path, json: { purpose } });
}

function change(id: string, what: 'activate' | 'retire', query: Record<string, string>) {
  if (!KeyId.safeParse(id).success) throw new UsageError('KEYID must be 32 lowercase hex digits');
  return (api: InternalApi) => api.ask({ method: 'POST', path: `${path}/${id}/${what}`, query });
}

/** A paragraph a key. */
function describe(answer: string): string {
  return parseAnswer(answer).keys.map(describeKey).join('\n');
}

function parseAnswer(answer: string): z.output<typeof Answer> {
  try {
    return Answer.parse(JSON.parse(answer));
  } catch (cause) {
    throw new Error('what answered is not this vault: see --url', { cause });
  }
}

function describeKey(key: Key): string {
  const { purpose, generation, state, activatedAt, retiredAt, record } = key;
  const signedBy = record?.hsmKeyId === key.keyId ? 'itself' : record?.hsmKeyId;
  return [
    `${key.keyId}  ${purpose}-${generation}  ${state}`,
    `  fingerprint  ${key.fingerprint}`,
    `  registered   ${key.registeredAt}, ${signedBy === undefined ? 'not signed yet' : `signed by ${signedBy}`}`,
    ...(activatedAt === null ? [] : [`  active from  ${activatedAt}`]),
    ...(retiredAt === null ? [] : [`  retired      ${retiredAt}`]),
    '',
  ].join('\n');
}
