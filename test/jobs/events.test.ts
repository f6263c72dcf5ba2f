import { randomUUID } from 'node:crypto';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createAccount, openSession } from '../support/accounts/test-account.ts';
import { postJson, send } from '../support/http/send.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { createSubmitter } from './jobs.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

/** Inserts a job that no worker takes, and returns its id. */
async function insertWaiting(userId: string): Promise<string> {
  const id = randomUUID();
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, request_id, available_at)
     values ($1, $2, 'default', 'EMAIL_VALIDATION', gen_random_uuid(), now() + interval '1 day')`,
    [id, userId],
  );
  return id;
}

/** Opens a stream, and collects its events until it ends. */
async function listen(jobId: string, token: string, baseUrl = vault.baseUrl) {
  const response = await fetch(`${baseUrl}/v1/jobs/${jobId}/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (response.body === null || response.status !== 200) {
    throw new Error(`${response.status} ${await response.text()}`);
  }
  const events: { event: string | undefined; data: Record<string, unknown> }[] = [];
  const parsed = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  const ended = (async () => {
    for await (const { event, data } of parsed) events.push({ event, data: JSON.parse(data) });
  })();
  return { events, ended, response };
}

const token = (userId: string) =>
  vault.tokens.access({
    userId,
    tenantId: 'default',
    plan: 'standard',
    roles: ['user'],
    scopes: ['jobs:submit'],
    sessionId: randomUUID(),
  });

test('a stream tells each status once, and ends with the job', async (t) => {
  const userId = randomUUID();
  const jobId = await insertWaiting(userId);
  const { events, ended, response } = await listen(jobId, await token(userId));
  t.is(response.headers.get('content-type'), 'text/event-stream');
  const untilTold = (count: number) =>
    until(() => events.length >= count, { what: `${count} events`, timeoutMs: 60_000 });
  await untilTold(1);
  await sql(
    `update jobs set state = 'ACTIVE', held_until = now() + interval '1 day' where id = $1`,
    [jobId],
  );
  await untilTold(2);
  await sql(
    `update jobs set state = 'FAILED', held_until = null, finished_at = now(), error = 'away'
     where id = $1`,
    [jobId],
  );
  await ended;
  const told = (status: string, error: string | null = null) => ({
    event: 'status',
    data: { jobId, status, error },
  });
  t.deepEqual(events, [
    told('PENDING'),
    told('ACTIVE'),
    told('FAILED', 'away'),
    { event: 'close', data: { reason: 'job_over' } },
  ]);
  const again = await listen(jobId, await token(userId));
  await again.ended;
  t.deepEqual(again.events, events.slice(2));
});

test('a stream ends when its job is purged', async (t) => {
  const userId = randomUUID();
  const jobId = await insertWaiting(userId);
  const { events, ended } = await listen(jobId, await token(userId));
  await until(() => events.length > 0, { what: 'an event', timeoutMs: 60_000 });
  await sql('delete from jobs where id = $1', [jobId]);
  await ended;
  t.deepEqual(events.at(-1), { event: 'close', data: { reason: 'not_found' } });
});

test('a stream ends within seconds after its session was revoked', async (t) => {
  const account = await createAccount(vault);
  const { accessToken } = await openSession(vault, account);
  const { sub } = JSON.parse(
    Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString(),
  ) as { sub: string };
  const jobId = await insertWaiting(sub);
  const { events, ended } = await listen(jobId, accessToken);
  await until(() => events.length > 0, { what: 'an event', timeoutMs: 60_000 });
  const startedAt = performance.now();
  await send('POST', `${vault.baseUrl}/v1/auth/logout`, { token: accessToken });
  await ended;
  t.true(performance.now() - startedAt < 10_000);
  t.deepEqual(events.at(-1), { event: 'close', data: { reason: 'invalid_token' } });
});

test('a user has at most ten streams, and a closed one frees its place', async (t) => {
  const userId = randomUUID();
  const jobId = await insertWaiting(userId);
  const access = await token(userId);
  const streams = await Promise.all(Array.from({ length: 10 }, () => listen(jobId, access)));
  await t.throwsAsync(listen(jobId, access), { message: /^429 .*too_many_feeds/ });
  await sql('delete from jobs where id = $1', [jobId]);
  await Promise.all(streams.map(({ ended }) => ended));
  const other = await insertWaiting(userId);
  const { events } = await until(() => listen(other, access).catch(() => undefined), {
    what: 'a place',
    timeoutMs: 60_000,
  });
  await until(() => events.length > 0, { what: 'an event', timeoutMs: 60_000 });
  await sql('delete from jobs where id = $1', [other]);
  t.pass();
});

test('a drain ends every stream', async (t) => {
  const draining = await startReadyVault();
  const own = createSql(draining);
  const user = await createSubmitter(draining);
  const id = randomUUID();
  await own(
    `insert into jobs (id, user_id, tenant_id, type, request_id, available_at)
     values ($1, $2, 'default', 'EMAIL_VALIDATION', gen_random_uuid(), now() + interval '1 day')`,
    [id, user.caller.userId],
  );
  const access = await draining.tokens.access(user.caller);
  const { events, ended } = await listen(id, access, draining.baseUrl);
  await until(() => events.length > 0, { what: 'an event', timeoutMs: 60_000 });
  draining.services.beginDrain();
  await ended;
  t.deepEqual(events.at(-1), { event: 'close', data: { reason: 'shutting_down' } });
  const { status } = await postJson(`${draining.baseUrl}/v1/jobs`, {}, access);
  t.not(status, 500);
  await draining.stop();
});
