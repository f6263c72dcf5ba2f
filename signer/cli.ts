import { hash } from 'node:crypto';
import { z } from 'zod';
import { loadToolConfig } from './config/config.ts';
import { describeVariables } from './config/variables.ts';
import { listMetrics } from './metrics/metrics.ts';
import { createNextEncryptionKey, createNextKey } from './pkcs11/keys/key-creation.ts';
import { formatKeyLabel } from './pkcs11/keys/key-label.ts';
import { findSigningKeys, type SigningKey } from './pkcs11/keys/keyring.ts';
import { provision } from './pkcs11/provisioning/provision.ts';
import { testToken } from './pkcs11/provisioning/self-test.ts';
import { withToken, workIn } from './pkcs11/provisioning/token-access.ts';
import { ConfigError } from './protocol/process/config-error.ts';
import { exitCodes } from './protocol/process/exit-codes.ts';
import { EncryptionKeyRequest, KeyRequest } from './protocol/protocol.ts';

const usageText = `usage: node signer/cli.ts <command>

  init [last]                  initialise the token and create the first keys, unless they exist;
                               if it takes the place of a lost token, give the highest generation
                               that ever existed as <last>
  keygen <audit|token|encryption> [last]
                               create the next generation of a key; if the token lost keys, give
                               the highest generation that ever existed as <last>
  list                         print the public keys, one JSON object per line
  export-public <key>          print the public key with this id or label as PEM
  self-test                    log in and try every key of the token; exit 1 if a check fails
  configuration                print the JSON Schema of the environment variables
  metrics                      print the descriptions of the metrics as JSON
`;

const helpFlags: ReadonlySet<string> = new Set(['--help', '-h']);

const KeyToGenerate = z.union([
  KeyRequest,
  EncryptionKeyRequest.extend({ purpose: z.literal('encryption') }),
]);

interface Output {
  readonly lines: readonly string[];
  readonly failed?: boolean;
}

class UsageError extends Error {}

/**
 * The commands by name. A command resolves with the lines to print, and throws UsageError for wrong
 * arguments.
 */
const commands: Record<string, (args: readonly string[]) => Promise<Output>> = {
  async init(args) {
    const [last = '0', ...rest] = args;
    const request = EncryptionKeyRequest.safeParse({ after: parseNumber(last) });
    if (!request.success || rest.length > 0)
      throw new UsageError('give nothing, or the highest generation that ever existed');
    const done = await provision({ ...loadToolConfig(process.env), ...request.data });
    return { lines: done.length > 0 ? done : ['nothing to do'] };
  },

  async keygen(args) {
    const [name, after = '0', ...rest] = args;
    const request = KeyToGenerate.safeParse({ purpose: name, after: parseNumber(after) });
    if (!request.success || rest.length > 0)
      throw new UsageError(
        'give audit, token or encryption, and optionally the highest generation that ever existed',
      );
    const config = loadToolConfig(process.env);
    if (request.data.purpose === 'encryption') {
      const generation = await createNextEncryptionKey(workIn(config), request.data.after);
      return { lines: [JSON.stringify({ purpose: 'encryption', generation })] };
    }
    const { rsaBits } = config;
    const key = await createNextKey(workIn(config), { ...request.data, rsaBits });
    return { lines: [describe(key)] };
  },

  async list(args) {
    takeNone(args);
    return { lines: (await loadKeys()).map(describe) };
  },

  async 'export-public'(args) {
    const name = takeOne(args, 'one key id or label');
    const [key, ...others] = (await loadKeys()).filter(
      (each) => each.keyId === name || labelOf(each) === name,
    );
    if (key === undefined) throw new Error(`the token holds no key ${name}: see list`);
    if (others.length > 0)
      throw new Error(`the token holds more than one key ${name}: give a key id from list`);
    return { lines: [key.publicKey.export({ type: 'spki', format: 'pem' }).toString().trimEnd()] };
  },

  async 'self-test'(args) {
    takeNone(args);
    const checks = await testToken(loadToolConfig(process.env));
    return {
      lines: checks.map(({ name, problem }) =>
        problem === undefined ? `ok ${name}` : `FAILED ${name}: ${problem}`,
      ),
      failed: checks.some(({ problem }) => problem !== undefined),
    };
  },

  async configuration(args) {
    takeNone(args);
    return { lines: [JSON.stringify(describeVariables(), undefined, 2)] };
  },

  async metrics(args) {
    takeNone(args);
    return { lines: [JSON.stringify(listMetrics(), undefined, 2)] };
  },
};

function loadKeys(): Promise<SigningKey[]> {
  return withToken(loadToolConfig(process.env), findSigningKeys);
}

function describe({ purpose, generation, keyId, spki, imported }: SigningKey): string {
  const fingerprint = hash('sha256', spki);
  const publicKey = spki.toString('base64');
  return JSON.stringify({ purpose, generation, keyId, fingerprint, publicKey, imported });
}

function labelOf({ purpose, generation }: SigningKey): string {
  return formatKeyLabel(purpose, generation);
}

function parseNumber(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : NaN;
}

function takeNone(args: readonly string[]): void {
  if (args.length > 0) throw new UsageError('this command takes no arguments');
}

function takeOne([arg, ...rest]: readonly string[], what: string): string {
  if (arg === undefined || rest.length > 0) throw new UsageError(`this command takes ${what}`);
  return arg;
}

async function run([name = '', ...args]: readonly string[]): Promise<Output> {
  if ([name, ...args].some((arg) => helpFlags.has(arg))) return { lines: [usageText.trimEnd()] };
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined)
    throw new UsageError(name === '' ? 'no command given' : `no such command: ${name}`);
  return command(args);
}

function codeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.misused;
  return error instanceof ConfigError ? exitCodes.refused : exitCodes.failed;
}

try {
  const { lines, failed = false } = await run(process.argv.slice(2));
  for (const line of lines) process.stdout.write(`${line}\n`);
  process.exitCode = failed ? exitCodes.failed : exitCodes.ok;
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const misused = error instanceof UsageError;
  process.stderr.write(misused ? `${message}\n\n${usageText}` : `${message}\n`);
  process.exitCode = codeOf(error);
}
