import { once } from 'node:events';
import { createConnection } from 'node:net';
import {
  spawnGuarded,
  type GuardedProcess,
  type ProcessOutput,
} from '../processes/guarded-process.ts';
import { lockFile, type Layout } from '../files/layout.ts';
import { inheritedEnvironment, nodeProcess } from '../processes/node-process.ts';
import { untilReady } from '../processes/ready.ts';
import { keepRunning, type RestartingProcess } from '../processes/restarting-process.ts';
import { initialiseToken } from './token.ts';

interface KeepSignerOptions {
  readonly layout: Layout;
  readonly signerSocketPath: string;
  /** The result of `tokenEnvironment`. */
  readonly signerEnvironment: Record<string, string>;
  readonly log: (source: string, line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Creates the token and its keys if they are missing, starts the signer, and restarts the signer
 * whenever it ends.
 */
export async function keepSigner(options: KeepSignerOptions): Promise<RestartingProcess> {
  const { layout, signerSocketPath, signerEnvironment, log, signal } = options;
  await initialiseToken(layout, signerEnvironment, signal);
  const environment = { ...signerEnvironment, SIGNER_SOCKET_PATH: signerSocketPath };
  const output = { onLine: (line: string) => log('signer', line) };
  return keepRunning({
    start: (signal) =>
      startSigner({ environment, output, lockFile: lockFile(layout, 'signer'), signal }),
    onEvent: (event) => log('signer', event),
    signal,
  });
}

interface SignerOptions {
  /** The result of `tokenEnvironment`, with SIGNER_SOCKET_PATH. */
  readonly environment: Record<string, string> & { SIGNER_SOCKET_PATH: string };
  readonly output: ProcessOutput;
  readonly lockFile?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Starts a signer process. Resolves once the signer listens on its socket. */
export async function startSigner(options: SignerOptions): Promise<GuardedProcess> {
  const { environment, output, lockFile, signal } = options;
  const spec = nodeProcess('signer', ['signer/main.ts'], {
    ...inheritedEnvironment(),
    ...environment,
  });
  const process = await spawnGuarded(
    { ...spec, ...(lockFile === undefined ? {} : { lockFile }) },
    output,
  );
  const connects = () => connect(environment.SIGNER_SOCKET_PATH);
  await untilReady(process, connects, { timeoutMs: 30_000, signal });
  return process;
}

async function connect(path: string): Promise<void> {
  const socket = createConnection(path);
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
