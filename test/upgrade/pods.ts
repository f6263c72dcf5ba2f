import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { spawnGuarded } from '../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment } from '../../app/dev/processes/node-process.ts';
import type { ProcessExit } from '../../app/dev/processes/process-spec.ts';
import { untilReady } from '../../app/dev/processes/ready.ts';
import { until } from '../../app/dev/processes/until.ts';
import { existsSync } from 'node:fs';
import { askReadiness } from '../support/processes/vault-processes.ts';
import type { Release } from './releases.ts';

/** An app of a release with the signer beside it, as a pod of the chart has them. */
export interface Pod {
  readonly release: Release;
  readonly port: number;
  readonly baseUrl: string;
  /** Ends the app by SIGTERM, and then the signer. Resolves with how the app ended. */
  stop(): Promise<ProcessExit>;
}

interface PodOptions {
  /** An empty directory for the socket of the signer. */
  readonly directory: string;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly signerSettings: Readonly<Record<string, string>>;
}

/** Starts a pod; resolves once its app is ready. */
export async function startPod(release: Release, options: PodOptions): Promise<Pod> {
  const { directory, logFile, settings, signerSettings } = options;
  await mkdir(directory, { mode: 0o700 });
  const socket = join(directory, 'signer.sock');
  const spawn = (name: string, file: string, env: Readonly<Record<string, string>>) =>
    spawnGuarded(
      {
        name: `${name} of the ${release.name} release`,
        command: process.execPath,
        args: [join(release.directory, file)],
        cwd: release.directory,
        env: { ...inheritedEnvironment(), ...env, SIGNER_SOCKET_PATH: socket },
        stopSignal: 'SIGTERM',
      },
      { file: logFile },
    );
  await using started = new AsyncDisposableStack();
  const signer = started.use(await spawn('signer', 'signer/main.ts', signerSettings));
  await until(() => existsSync(socket), { what: 'the signer', timeoutMs: 60_000 });
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const app = started.use(await spawn('app', 'app/main.ts', { ...settings, PORT: String(port) }));
  await untilReady(app, () => askReadiness(baseUrl), {
    timeoutMs: 90_000,
    intervalMs: 100,
    logFile,
  });
  started.move();
  return {
    release,
    port,
    baseUrl,
    async stop() {
      const exit = await app.stop();
      await signer.stop();
      return exit;
    },
  };
}
