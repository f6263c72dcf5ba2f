import { defaultVariables, fixedVariables, localUrl, type Listen } from './app-environment.ts';
import { spawnGuarded, type GuardedProcess } from '../processes/guarded-process.ts';
import { lockFile } from '../files/layout.ts';
import { inheritedEnvironment, nodeProcess } from '../processes/node-process.ts';
import { untilReady } from '../processes/ready.ts';
import type { Services } from './services.ts';

/** Starts the app on the embedded services. Resolves once it is ready for requests. */
export async function startApp(
  services: Services,
  listen: Listen,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<GuardedProcess> {
  // Only migrations use the login of the database owner, so the app does not get its URL.
  const { DATABASE_OWNER_URL: _owner, ...inherited } = inheritedEnvironment();
  const environment = {
    ...defaultVariables(services, listen),
    ...inherited,
    ...fixedVariables(services, listen),
  };
  const spec = nodeProcess('app', ['app/main.ts'], environment);
  const process = await spawnGuarded(
    { ...spec, lockFile: lockFile(services.layout, 'app') },
    { onLine },
  );
  const url = `${localUrl(listen)}/health/ready`;
  await untilReady(process, () => askReadiness(url), {
    timeoutMs: 60_000,
    intervalMs: 100,
    signal,
  });
  return process;
}

async function askReadiness(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${url} responded ${response.status}`);
}
