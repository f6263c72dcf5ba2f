import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import type { GuardedProcess } from '../../../app/dev/processes/guarded-process.ts';
import { startSigner } from '../../../app/dev/signer/signer.ts';
import { testStack } from '../vault/stack.ts';
import { startVault, type TestVault } from '../vault/vault.ts';

/** A signer on the token of the whole run, which a test starts and kills. */
export interface OwnSigner {
  readonly socketPath: string;
  start(): Promise<void>;
  /** Kills the signer, as a crash would. */
  kill(): Promise<void>;
  /** Kills the signer and removes its directory, at the end of the test. */
  remove(): Promise<void>;
}

export async function createOwnSigner(): Promise<OwnSigner> {
  // The path of a Unix socket must be short.
  const directory = await mkdtemp('/tmp/probatio-signer-');
  const socketPath = path.join(directory, 'signer.sock');
  const environment = { ...testStack().signerEnvironment, SIGNER_SOCKET_PATH: socketPath };
  let running: GuardedProcess | undefined;
  async function kill(): Promise<void> {
    running?.kill('SIGKILL');
    await running?.exited;
    running = undefined;
  }
  return {
    socketPath,
    kill,
    async start() {
      running = await startSigner({ environment, output: { onLine: () => undefined } });
    },
    async remove() {
      await kill();
      await rm(directory, { recursive: true });
    },
  };
}

export interface VaultWithSigner {
  readonly vault: TestVault;
  readonly signer: OwnSigner;
  readonly stop: () => Promise<void>;
}

/** Starts a vault with a running signer of its own. */
export async function startVaultWithSigner(
  settings: NodeJS.ProcessEnv = {},
): Promise<VaultWithSigner> {
  const signer = await createOwnSigner();
  await signer.start();
  const vault = await startVault({ ...settings, SIGNER_SOCKET_PATH: signer.socketPath });
  return {
    vault,
    signer,
    async stop() {
      await vault.stop();
      await signer.remove();
    },
  };
}
