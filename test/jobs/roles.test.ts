import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { connectRedis } from '../../app/redis/redis.ts';
import { openWakeChannels } from '../../app/redis/wake-channels.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { getJson } from '../support/http/send.ts';
import { startOwnRedis } from '../support/network/own-redis.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { inventAccount, register } from '../support/accounts/test-account.ts';
import { createSubmitter } from './jobs.ts';

test('without the role `worker` no job runs and no mail is sent; entries are sealed', async (t) => {
  const vault = await startReadyVault({ APP_ROLES: 'api' });
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const user = await createSubmitter(vault);
  const email = `${randomUUID()}@example.org`;
  const jobId = await user.submit('EMAIL_VALIDATION', { email });
  await register(vault, inventAccount());
  await until(
    async () => {
      const rows = await sql(
        'select 1 from audit_entries where resource_id = $1 and sealed_at is not null',
        [jobId],
      );
      return rows.length === 1;
    },
    { what: 'the entry to be sealed', timeoutMs: 60_000 },
  );
  t.is((await user.get(jobId)).status, 'PENDING');
  const messages = await sql('select attempts from outbox');
  t.deepEqual(messages, [{ attempts: 0 }]);
});

test('a process without the role `worker` tells the workers of a message', async (t) => {
  const redis = await startOwnRedis(t);
  const vault = await startReadyVault({ APP_ROLES: 'api', REDIS_URL: redis.url });
  t.teardown(() => vault.stop());
  const connection = connectRedis(redis.url, createLog('silent'));
  const wakes = openWakeChannels(connection);
  t.teardown(() => {
    wakes.close();
    connection.disconnect();
  });
  const { promise: subscribed, resolve: onSubscribed } = Promise.withResolvers<void>();
  const told: string[] = [];
  wakes.open('outbox-added', { onTold: (name) => void told.push(name), onSubscribed });
  await subscribed;
  await register(vault, inventAccount());
  await until(() => told.length > 0, { what: 'the message to be told', timeoutMs: 60_000 });
  t.deepEqual(told, ['added']);
});

test('without the role `api` only the probes are served', async (t) => {
  const vault = await startReadyVault({ APP_ROLES: 'worker' });
  t.teardown(() => vault.stop());
  t.is((await getJson(`${vault.baseUrl}/health/live`)).status, 200);
  for (const path of ['/v1/jobs', '/v1/documents']) {
    const { status } = await getJson(`${vault.baseUrl}${path}/${randomUUID()}`);
    t.is(status, 404, path);
  }
});
