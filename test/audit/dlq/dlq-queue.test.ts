import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { eraseTraces, findUnsealed } from '../../../app/audit/entries/erasure.ts';
import { send } from '../../support/http/send.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { startDlqVault } from './dead-letters.ts';
import { appendEntries } from '../../support/audit/entries.ts';
import { createOwnSigner } from '../../support/audit/killable-signer.ts';
import { startSignerProxy } from '../sealing/signer-proxy.ts';

test('a batch retries the least tried entries first, so none is blocked', async (t) => {
  const dlq = await startDlqVault(t);
  const hopeless = await dlq.kill(3, 'not_an_entry');
  const mended = await dlq.kill(4);
  for (const entry of mended) await dlq.mend(entry);
  const retry = async (batchSize: number) =>
    (await dlq.ask('POST', `retry?batchSize=${batchSize}`)).body;
  t.deepEqual((await dlq.ask('GET', 'stats')).body['byReason'], {
    not_an_entry: 3,
    not_canonical: 4,
  });
  t.deepEqual(await retry(3), { processed: 3, succeeded: 0, failed: 3, remaining: 7 });
  t.deepEqual(await retry(3), { processed: 3, succeeded: 3, failed: 0, remaining: 4 });
  const { body } = await dlq.ask('POST', 'retry');
  t.deepEqual(body, { processed: 4, succeeded: 1, failed: 3, remaining: 3 });
  await dlq.ask('POST', `${hopeless[0]?.id ?? ''}/abandon`);

  const [oldest] = await dlq.sql(
    `select min(created_at) as at from audit_dead_letters where status = 'PENDING'`,
  );
  t.deepEqual((await dlq.ask('GET', 'stats')).body, {
    total: 7,
    pending: 2,
    abandoned: 1,
    recovered: 4,
    oldestAt: instantOf(oldest?.['at']),
    byReason: { not_canonical: 2 },
  });
  await dlq.untilSealed();
  t.is((await dlq.recordsOf(hopeless[0]?.id ?? '')).length, 3);
});

test('the maintenance task retries every queued entry once, whatever its attempts', async (t) => {
  const dlq = await startDlqVault(t);
  const hopeless = await dlq.kill(2, 'not_an_entry');
  const [mended] = await dlq.kill(1);
  if (mended === undefined) throw new Error('no dead entry was created');
  await dlq.mend(mended);
  await dlq.sql('update audit_dead_letters set attempts = 50 where entry_id = $1', [mended.id]);
  const run = async (query: string, key: string) =>
    send('POST', `${dlq.vault.baseUrl}/v1/internal/maintenance/retry-dlq${query}`, {
      headers: { 'X-Internal-Api-Key': key },
    });
  const counts = { retriedEntries: 3, recoveredEntries: 0 };
  t.like((await run('?dryRun=true', dlq.keys.admin)).body, { ...counts, dryRun: true });
  t.like(await dlq.stateOf(mended.id), { status: 'PENDING', attempts: 50 });
  t.is((await run('', dlq.keys.plain)).status, 403);

  t.like((await run('', dlq.keys.admin)).body, { ...counts, recoveredEntries: 1, dryRun: false });
  t.like(await dlq.stateOf(mended.id), { status: 'RECOVERED', state: 'SEALED' });
  for (const { id } of hopeless) {
    t.like(await dlq.stateOf(id), { status: 'PENDING', attempts: 6, claim_id: null });
    const [record, ...others] = await dlq.recordsOf(id);
    t.like(record, { action: 'audit.retried', actor: { type: 'system', id: 'test-admin' } });
    t.is(others.length, 0);
  }
  const [ran] = await dlq.sql(
    `select canonical from audit_entries where action = 'maintenance.ran'`,
  );
  t.like((JSON.parse(String(ran?.['canonical'])) as { data: object }).data, {
    task: 'retry-dlq',
    retriedEntries: 3,
    recoveredEntries: 1,
  });
});

test('an operator works on the letters of one tenant, a platform operator on all', async (t) => {
  const dlq = await startDlqVault(t);
  const dead = await dlq.kill(2, 'not_an_entry');
  const ask = async (roles: string[], method: string, path: string) => {
    const api = await createApi(dlq.vault, { tenantId: 'acme', roles });
    return (await api.send(method, `/v1/audit/proof/dlq/${path}`)).body;
  };
  t.like(await ask(['operator'], 'GET', 'stats'), { total: 0, pending: 0, oldestAt: null });
  t.deepEqual(await ask(['operator'], 'GET', 'alerts'), { alerts: [] });
  const nothing = { processed: 0, succeeded: 0, failed: 0, remaining: 0 };
  t.deepEqual(await ask(['operator'], 'POST', 'retry'), nothing);
  for (const { id } of dead) t.like(await dlq.stateOf(id), { status: 'PENDING', attempts: 5 });

  t.like(await ask(['platform_operator'], 'GET', 'stats'), { total: 2, pending: 2 });
  const { alerts } = await ask(['platform_operator'], 'GET', 'alerts');
  t.like(alerts, [{ code: 'dead_letters', value: 2 }]);
  const retried = { processed: 2, succeeded: 0, failed: 2, remaining: 2 };
  t.deepEqual(await ask(['platform_operator'], 'POST', 'retry'), retried);
});

test('an empty queue has nothing to retry and raises no alert', async (t) => {
  const dlq = await startDlqVault(t);
  const none = { total: 0, pending: 0, abandoned: 0, recovered: 0, oldestAt: null, byReason: {} };
  t.deepEqual((await dlq.ask('GET', 'stats')).body, none);
  t.deepEqual((await dlq.ask('GET', 'alerts')).body, { alerts: [] });
  t.deepEqual((await dlq.ask('POST', 'retry?batchSize=200')).body, {
    processed: 0,
    succeeded: 0,
    failed: 0,
    remaining: 0,
  });
});

test('an alert names the exceeded threshold, the value, and since when', async (t) => {
  const signer = await createOwnSigner();
  t.teardown(() => signer.remove());
  await signer.start();
  const dlq = await startDlqVault(t, {
    SIGNER_SOCKET_PATH: signer.socketPath,
    AUDIT_ALERT_DEAD_LETTERS: '2',
    AUDIT_ALERT_DEAD_LETTER_AGE_SECONDS: '3600',
    AUDIT_ALERT_BACKLOG: '3',
    AUDIT_ALERT_BACKLOG_AGE_SECONDS: '600',
    AUDIT_ALERT_PAUSE_SECONDS: '1',
  });
  await dlq.untilSealed();
  const alerts = async () => (await dlq.ask('GET', 'alerts')).body['alerts'] as object[];
  const [first, second] = await dlq.kill(2);
  const age = async (id: string | undefined, hours: number) => {
    const [row] = await dlq.sql(
      `update audit_dead_letters set created_at = now() - $2 * interval '1 hour'
       where entry_id = $1 returning created_at`,
      [id, hours],
    );
    return instantOf(row?.['created_at']);
  };
  const oldest = await age(first?.id, 2);
  const reached = await age(second?.id, 0.5);
  t.like(await alerts(), [
    { code: 'dead_letters', severity: 'warning', value: 2, threshold: 2, since: reached },
    { code: 'dead_letter_old', severity: 'critical', threshold: 3600, since: oldest },
  ]);
  t.is((await alerts()).length, 2);

  await signer.kill();
  await appendEntries(dlq.open, 2);
  // The lease keeps the sealer from comparing the text with the time that is changed here.
  await dlq.sql(
    `with leased as (
       update audit_queue
       set claim_id = gen_random_uuid(), claimed_until = now() + interval '1 hour'
       returning entry_id
     )
     update audit_log set created_at = now() - interval '1 hour'
     where id in (select entry_id from leased)`,
  );
  await appendEntries(dlq.open, 1);
  const codes = async () => (await alerts()).map((alert) => 'code' in alert && alert.code);
  const expected = ['dead_letters', 'dead_letter_old', 'backlog_large', 'backlog_old'];
  await until(async () => (await codes()).join() === [...expected, 'sealing_paused'].join(), {
    what: 'every alert',
    timeoutMs: 60_000,
  });

  const before = await dlq.stateOf(first?.id ?? '');
  for (const path of ['retry', `${first?.id ?? ''}/retry`]) {
    const answer = await dlq.ask('POST', path);
    t.is(answer.status, 503);
    t.is(answer.body['code'], 'signer_unavailable');
    t.regex(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  }
  t.like(before, { state: 'DEAD', claim_id: null, attempts: 5 });
  t.deepEqual(await dlq.stateOf(first?.id ?? ''), before);

  await dlq.sql(
    `with released as (
       update audit_queue set claim_id = null, claimed_until = null returning entry_id
     )
     update audit_log set created_at = now() where id in (select entry_id from released)`,
  );
  await signer.start();
  await until(async () => (await codes()).join() === 'dead_letters,dead_letter_old', {
    what: 'the other alerts to end',
    timeoutMs: 60_000,
  });
  if (first !== undefined) await dlq.mend(first);
  t.is((await dlq.ask('POST', `${first?.id ?? ''}/retry`)).body['status'], 'RECOVERED');
  t.deepEqual(await alerts(), []);
});

test('an entry whose retry is in progress cannot be retried or abandoned by others', async (t) => {
  const proxy = await startSignerProxy(t);
  const dlq = await startDlqVault(t, { SIGNER_SOCKET_PATH: proxy.socketPath });
  const dead = await dlq.killOne();
  await dlq.mend(dead);
  const { promise: signing, resolve: begin } = Promise.withResolvers<void>();
  const { promise: answered, resolve: answer } = Promise.withResolvers<undefined>();
  proxy.fail = (batch) => {
    if (!batch.includes(dead.id)) return undefined;
    begin();
    return answered;
  };
  const retried = dlq.ask('POST', `${dead.id}/retry`);
  await signing;
  for (const action of ['retry', 'abandon']) {
    const other = await dlq.ask('POST', `${dead.id}/${action}`);
    t.is(other.status, 409);
    t.is(other.body['code'], 'retry_in_progress');
  }
  t.like((await dlq.ask('POST', 'retry')).body, { processed: 0, remaining: 1 });
  answer(undefined);
  t.is((await retried).body['status'], 'RECOVERED');
});

test('a dead entry blocks the erasure of its user until it is abandoned', async (t) => {
  const owner = { userId: randomUUID(), tenantId: 'default' };
  const dlq = await startDlqVault(t);
  const { db } = dlq.open;
  const dead = await dlq.killOne();
  const { userId } = dlq.open.owner;
  const users = [userId, owner.userId];
  t.deepEqual(await db.asService((tx) => findUnsealed(tx, users)), new Set([userId]));
  await dlq.ask('POST', `${dead.id}/abandon`);
  await dlq.untilSealed();
  t.deepEqual(await db.asService((tx) => findUnsealed(tx, users)), new Set());
  t.is(await db.asService((tx) => eraseTraces(tx, [userId], new Date())), 2);
  t.deepEqual(
    await dlq.sql('select state from audit_entries where user_id = $1 and canonical is not null', [
      userId,
    ]),
    [],
  );
});

function instantOf(value: unknown): string {
  if (!(value instanceof Date)) throw new TypeError('not a date');
  return value.toISOString();
}
