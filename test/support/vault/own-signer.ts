import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSigner } from '../../../app/dev/signer/signer.ts';
import { testStack } from './stack.ts';

/** A signer process on the run's token that a test may kill. */
export interface OwnSigner extends AsyncDisposable {
  readonly socketPath: string;
  /** What it has printed so far. */
  readonly lines: readonly string[];
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Another one at the same socket; `settings` are environment variables over the usual ones. */
  restart(settings?: Record<string, string>): Promise<void>;
}

export async function startOwnSigner(): Promise<OwnSigner> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-signer-'));
  const socketPath = path.join(directory, 'signer.sock');
  const lines: string[] = [];
  const start = (settings: Record<string, string> = {}) =>
    startSigner({
      environment: {
        ...testStack().signerEnvironment,
        ...settings,
        SIGNER_SOCKET_PATH: socketPath,
      },
      output: { onLine: (line) => void lines.push(line) },
    });
  let current = await start();
  return {
    socketPath,
    lines,
    async kill() {
      current.kill('SIGKILL');
      await current.exited;
    },
    async restart(settings) {
      current = await start(settings);
    },
    async [Symbol.asyncDispose]() {
      await current.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
