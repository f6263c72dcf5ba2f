import {
  registerOnly,
  expire,
  insertExpired,
  type PurgeVault,
} from '../../support/accounts/purge-vault.ts';
import {
  beginLogin,
  createAccount,
  openSession,
  register,
} from '../../support/accounts/test-account.ts';
import { postJson, send } from '../../support/http/send.ts';

const tasks = [
  'drain-outbox',
  'purge-jobs',
  'verify-log',
  'expire-uploads',
  'expire-documents',
  'collect-garbage',
  'retry-dlq',
  'reencrypt',
  'verify-files',
];

/** Registers, validates and logs in, so that the statements behind strangers' requests are sent. */
export async function walkAsStranger(context: PurgeVault): Promise<void> {
  const { vault } = context;
  const account = await createAccount(vault);
  await register(vault, account);
  const { refreshToken } = await openSession(vault, account);
  await postJson(`${vault.baseUrl}/v1/auth/refresh`, { refreshToken });
  const { sessionId, A } = await beginLogin(vault, account);
  await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1: '00'.repeat(32) });
}

/**
 * Carries out what CronJobs ask for, on accounts that a purge removes. Dry runs are left out, since
 * they count all that is due.
 */
export async function walkAsCronJob(context: PurgeVault): Promise<void> {
  const { vault, sql, keys } = context;
  const { userId } = await registerOnly(context);
  await expire(context, userId);
  await insertExpired(sql, 3);
  const headers = { 'X-Internal-Api-Key': keys.admin };
  const ask = async (method: string, path: string) => {
    const answer = await send(method, `${vault.baseUrl}${path}`, { headers });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  };
  await ask('GET', '/v1/auth/purge/status');
  await ask('GET', '/v1/internal/maintenance');
  await ask('POST', '/v1/auth/purge/expired');
  for (const task of tasks) await ask('POST', `/v1/internal/maintenance/${task}`);
}
