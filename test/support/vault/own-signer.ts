import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSigner } from '../../../app/dev/signer/signer.ts';
import { testStack } from './stack.ts';

/** A signer process on the token of the whole run, which a test may kill. */
export interface OwnSigner extends AsyncDisposable {
  readonly socketPath: string;
  /** Lines that the signer has printed so far. */
  readonly lines: readonly string[];
  /** Sends SIGKILL; resolves once the process is gone. */
  kill(): Promise<void>;
  /**
   * Starts a new signer at the same socket. `settings` override the usual environment variables.
   */
  restart(settings?: Record<string, string>): Promise<void>;
}

/** @param own Environment variables of the signer beside the usual ones. */
export async function startOwnSigner(own: Record<string, string> = {}): Promise<OwnSigner> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-signer-'));
  const socketPath = path.join(directory, 'signer.sock');
  const lines: string[] = [];
  const start = (settings: Record<string, string> = {}) =>
    startSigner({
      environment: {
        ...testStack().signerEnvironment,
        ...own,
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
