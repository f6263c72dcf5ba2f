import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createSignerClient, type SignerClient } from '../../../signer/protocol/client.ts';
import type {
  EntryToSeal,
  PublicKey,
  SealResult,
  SigningPurpose,
} from '../../../signer/protocol/protocol.ts';
import { testSignerSettings } from '../vault/stack.ts';
import { compileCache } from '../processes/compile-cache.ts';

const libraries = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
];
const sources = fileURLToPath(new URL('../../../signer/', import.meta.url));
const pollMs = 20;
const pollLimitMs = 60_000;

export interface TokenFixture {
  readonly directory: string;
  readonly pin: string;
  readonly environment: Record<string, string> &
    Record<
      'SIGNER_LIBRARY' | 'SIGNER_PIN_FILE' | 'SIGNER_SOCKET_PATH' | 'SIGNER_TOKEN_LABEL',
      string
    >;
  /** Runs `signer/cli.ts` with these arguments and resolves with its output. */
  tool(command: string, environment?: Record<string, string>): Promise<string>;
  /** Resolves with the keys that `list` prints. */
  keys(): Promise<ListedKey[]>;
  /** Changes the token's objects directly, as no signer would (see token-surgery.ts). */
  operate(...args: string[]): Promise<void>;
  remove(): Promise<void>;
}

type ListedKey = Pick<PublicKey, 'purpose' | 'generation' | 'keyId' | 'publicKey'> & {
  readonly fingerprint: string;
};

/** Creates a SoftHSM in a temporary directory, without a token yet. */
export async function createTokenFixture(): Promise<TokenFixture> {
  const library = process.env.SIGNER_LIBRARY ?? libraries.find((path) => existsSync(path));
  if (library === undefined || library === '')
    throw new Error('SoftHSM2 is not installed: install it or set SIGNER_LIBRARY');
  const directory = await mkdtemp(join(tmpdir(), 'signer-'));
  const path = (name: string): string => join(directory, name);
  const pin = `pin-${randomUUID()}`;
  await mkdir(path('tokens'));
  await writeFile(path('softhsm2.conf'), `directories.tokendir = ${path('tokens')}\n`);
  await writeFile(path('pin'), `${pin}\n`);
  await writeFile(path('so-pin'), `so-${randomUUID()}\n`);
  const environment = {
    PATH: process.env.PATH ?? '',
    ...compileCache(),
    SOFTHSM2_CONF: path('softhsm2.conf'),
    SIGNER_LIBRARY: library,
    SIGNER_TOKEN_LABEL: 'probatio test',
    ...testSignerSettings,
    SIGNER_PIN_FILE: path('pin'),
    SIGNER_SO_PIN_FILE: path('so-pin'),
    SIGNER_SOCKET_PATH: path('signer.sock'),
  };
  const run = async (file: string, args: readonly string[], more = {}): Promise<string> => {
    const env = { ...environment, ...more };
    const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { env });
    return stdout;
  };
  const tool: TokenFixture['tool'] = (command, more) =>
    run(join(sources, 'cli.ts'), command.split(' '), more);
  return {
    directory,
    pin,
    environment,
    tool,
    async keys() {
      const lines = (await tool('list')).trim().split('\n');
      return lines.map((line) => JSON.parse(line) as ListedKey);
    },
    async operate(...args) {
      await run(fileURLToPath(new URL('./token-surgery.ts', import.meta.url)), args);
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

export interface RunningSigner {
  readonly process: ChildProcess;
  readonly client: SignerClient;
  /** Resolves with the id of a purpose's newest key. Rejects unless the token is ready. */
  keyId(purpose: SigningPurpose): Promise<string>;
  /** Seals entries with the newest audit key. */
  seal(entries: readonly EntryToSeal[]): Promise<SealResult[]>;
  /** Returns everything the signer has written to stdout and stderr. */
  output(): string;
  metrics(): Promise<string>;
  /** Stops the signer by SIGTERM and resolves with its exit code. */
  stop(): Promise<number | null>;
}

/**
 * Starts the signer as a separate process; resolves once it has connected to its token or failed
 * to.
 */
export async function startSigner(
  fixture: TokenFixture,
  environment: Record<string, string> = {},
): Promise<RunningSigner> {
  const env: TokenFixture['environment'] = {
    LOG_LEVEL: 'trace',
    ...fixture.environment,
    ...environment,
  };
  const child = spawn(process.execPath, [join(sources, 'main.ts')], { env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const socketPath = env.SIGNER_SOCKET_PATH;
  const client = createSignerClient({ socketPath });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`the signer exited during its start:\n${output}`);
    return client.health().then(
      ({ token }) => token !== 'connecting',
      () => false,
    );
  });
  const keyId = async (purpose: SigningPurpose): Promise<string> => {
    const keys = (await client.listKeys()).filter((key) => key.purpose === purpose);
    const newest = keys.toSorted((a, b) => b.generation - a.generation)[0];
    if (newest === undefined) throw new Error(`the token has no ${purpose} key`);
    return newest.keyId;
  };
  return {
    process: child,
    client,
    keyId,
    seal: async (entries) => client.seal(await keyId('audit'), entries),
    output: () => output,
    metrics: () => readMetrics(socketPath),
    async stop() {
      client.close();
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
      return child.exitCode;
    },
  };
}

/** Polls until the condition holds. Throws after a minute. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + pollLimitMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the condition did not hold within a minute');
    await delay(pollMs);
  }
}

/**
 * Returns the process id of the child in which the signer runs its HSM, or undefined if there is
 * none.
 */
export async function hsmProcess({ process }: RunningSigner): Promise<number | undefined> {
  const children = await readFile(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');
  const [first = ''] = children.trim().split(' ');
  return first === '' ? undefined : Number(first);
}

/** Returns the metrics of the signer at a socket, as text. */
export async function readMetrics(socketPath: string): Promise<string> {
  const req = request({ socketPath, path: '/metrics' }).end();
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  return text(res);
}
