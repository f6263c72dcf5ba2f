import { z } from 'zod';
import { parseOptions } from '../command.ts';
import { internalApiOptions, openInternalApi } from '../internal-api.ts';

const path = 'v1/internal/encryption-keys';

const Generation = z.object({
  generation: z.int(),
  isAvailable: z.boolean(),
  createdAt: z.string(),
  usableAt: z.string(),
  escrow: z.string().nullable(),
  escrowKey: z.string().nullable(),
});
type Generation = z.output<typeof Generation>;

/** A response of the app: all generations, or the one that was created. */
const Answer = z.union([
  z.object({ keys: z.array(Generation) }),
  Generation.transform((key) => ({ keys: [key] })),
]);

/** The requests about encryption keys, by the words after `probatio keys`; the last is printed. */
const requests = {
  'create encryption': [{ method: 'POST', path }],
  generations: [{ method: 'GET', path }],
  escrow: [
    { method: 'POST', path: `${path}/escrow` },
    { method: 'GET', path },
  ],
} as const;

/** The help text of the verbs about encryption keys. */
export const encryptionKeysUsage = `\
  create encryption  creates the next generation of the key that encrypts what is stored
  generations        prints the generations of this key
  escrow             encrypts each generation for the key that KEYS_ESCROW_PUBLIC_KEY_FILE names,
                     unless that was done, and prints the results
`;

/**
 * Runs a verb about encryption keys, and resolves with what to print. Returns undefined for any
 * other verb.
 */
export function runEncryptionVerb(args: readonly string[]): Promise<string> | undefined {
  const words = Object.keys(requests) as (keyof typeof requests)[];
  const verb = words.find((each) => each === args.slice(0, each.split(' ').length).join(' '));
  return verb === undefined ? undefined : run(verb, args.slice(verb.split(' ').length));
}

async function run(verb: keyof typeof requests, args: readonly string[]): Promise<string> {
  const { json = false, ...values } = parseOptions(args, {
    json: { type: 'boolean' },
    ...internalApiOptions,
  });
  const api = await openInternalApi(values);
  let answer = '';
  for (const request of requests[verb]) answer = await api.ask(request);
  if (json) return `${answer}\n`;
  return parse(answer)
    .map((key) => describe(key, verb === 'escrow'))
    .join('\n');
}

function parse(answer: string): readonly Generation[] {
  try {
    return Answer.parse(JSON.parse(answer)).keys;
  } catch (cause) {
    throw new Error('the response is not from a vault: check --url', { cause });
  }
}

function describe(key: Generation, withEscrow: boolean): string {
  const { generation, isAvailable, createdAt, usableAt, escrow, escrowKey } = key;
  return [
    `encryption-${generation}${isAvailable ? '' : '  MISSING: neither the token nor you gave it'}`,
    `  created      ${createdAt}, used from ${usableAt}`,
    `  escrow       ${escrowKey === null ? 'none' : `for the key ${escrowKey}`}`,
    ...(withEscrow && escrow !== null ? [`  ${escrow}`] : []),
    '',
  ].join('\n');
}
