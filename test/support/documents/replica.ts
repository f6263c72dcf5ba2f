import { freePort } from '../../../app/dev/processes/free-port.ts';
import { spawnGuarded, type GuardedProcess } from '../../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment, nodeProcess } from '../../../app/dev/processes/node-process.ts';
import { untilReady } from '../../../app/dev/processes/ready.ts';
import { testStack } from '../vault/stack.ts';
import type { TestVault } from '../vault/vault.ts';
import { withoutLimits } from '../vault/without-limits.ts';

export interface Replica {
  readonly baseUrl: string;
  readonly process: GuardedProcess;
}

/**
 * Starts another process of the same vault: with the same database, objects and access tokens.
 * @param settings Environment variables that override the replica's own.
 * @param flags Flags of Node.
 */
export async function startReplica(
  vault: TestVault,
  settings: Record<string, string> = {},
  flags: readonly string[] = [],
): Promise<Replica> {
  const port = await freePort();
  const { redisUrl, signerSocketPath } = testStack();
  const environment = {
    ...inheritedEnvironment(),
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    PORT: String(port),
    HTTP_PUBLIC_URL: vault.config.http.publicUrl,
    DATABASE_URL: vault.databases.app,
    DATABASE_SERVICE_URL: vault.databases.service,
    REDIS_URL: redisUrl,
    STORAGE_DIRECTORY: vault.storeDirectory,
    SIGNER_SOCKET_PATH: signerSocketPath,
    // Either process may send e-mails that the other has put into the outbox.
    MAIL_DIRECTORY: vault.mailDirectory,
    ...withoutLimits,
    ...settings,
  };
  const spec = nodeProcess('replica', ['app/main.ts'], environment, flags);
  const baseUrl = `http://127.0.0.1:${port}`;
  const process = await spawnGuarded(spec, { onLine: () => undefined });
  const isReady = async () => {
    const response = await fetch(`${baseUrl}/health/ready`);
    if (!response.ok) throw new Error(`not ready: ${response.status}`);
  };
  await untilReady(process, isReady, { timeoutMs: 60_000, intervalMs: 100 });
  return { baseUrl, process };
}
