import { randomUUID } from 'node:crypto';
import test from 'ava';
import { assertError } from '../support/http/error-body.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { createSubmitter, type ShownJob, type Submitter } from './jobs.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

const someone = () => ({ email: `${randomUUID()}@example.org` });

/** Submits a job and makes it fail. */
async function createFailed(by: Submitter, changes: Readonly<Record<string, unknown>> = {}) {
  const jobId = await by.submit('EMAIL_VALIDATION', someone());
  await by.untilOver(jobId);
  const row = { state: 'FAILED', error: 'away', retryable: true, result: null, ...changes };
  for (const [column, value] of Object.entries(row)) {
    await sql(`update jobs set ${column} = $2 where id = $1`, [jobId, value]);
  }
  await sql(`update jobs set payload = '{"email":"a@example.org"}' where id = $1`, [jobId]);
  return jobId;
}

test('a job is accepted at once, listed newest first, and shown until it is over', async (t) => {
  const user = await createSubmitter(vault);
  const json = { type: 'EMAIL_VALIDATION', payload: someone() };
  const { status, body } = await user.send('POST', '/v1/jobs', { json });
  t.is(status, 202);
  const { jobId, submittedAt, ...rest } = body as Record<string, string>;
  t.deepEqual(rest, { status: 'PENDING' });
  const job = await user.untilOver(jobId ?? '');
  t.like(job, { jobId, type: 'EMAIL_VALIDATION', submittedAt, status: 'COMPLETED' });
  const later = [await user.submit('EMAIL_VALIDATION', someone())];
  later.unshift(await user.submit('EMAIL_VALIDATION', someone()));
  const page = await user.send('GET', '/v1/jobs?limit=2');
  t.deepEqual(
    (page.body as ShownJob[]).map((shown) => shown.jobId),
    later,
  );
  const next = /<([^>]*)>/.exec(page.headers.get('link') ?? '')?.[1];
  const last = await user.send('GET', `/v1/jobs${next}`);
  t.deepEqual(
    (last.body as ShownJob[]).map((shown) => shown.jobId),
    [jobId],
  );
  t.is(last.headers.get('link'), null);
});

test('strangers see no job, operators those of their tenant, platform operators all', async (t) => {
  const owner = await createSubmitter(vault, { tenantId: 'tenant-1' });
  const jobId = await createFailed(owner);
  const notFound = { status: 404, code: 'not_found' };
  const refused = [
    await createSubmitter(vault, { tenantId: 'tenant-1', roles: ['user'] }),
    await createSubmitter(vault, { tenantId: 'tenant-2' }),
  ];
  for (const stranger of refused) {
    for (const [method, path] of [
      ['GET', `/v1/jobs/${jobId}`],
      ['GET', `/v1/jobs/${jobId}/events`],
      ['POST', `/v1/jobs/${jobId}/retry`],
      ['GET', `/v1/jobs/${randomUUID()}`],
    ] as const) {
      assertError(t, await stranger.send(method, path), notFound, `${method} ${path}`);
    }
    t.deepEqual((await stranger.send('GET', '/v1/jobs')).body, []);
  }
  t.is((await owner.get(jobId)).status, 'FAILED');
  for (const as of [
    { tenantId: 'tenant-1' },
    { tenantId: 'tenant-2', roles: ['platform_operator'] },
  ]) {
    const operator = await createSubmitter(vault, as);
    t.is((await operator.get(jobId)).jobId, jobId);
  }
});

test('a repeated submission under an Idempotency-Key is one job', async (t) => {
  const user = await createSubmitter(vault);
  const json = { type: 'EMAIL_VALIDATION', payload: someone() };
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await user.send('POST', '/v1/jobs', { json, headers });
  const second = await user.send('POST', '/v1/jobs', { json, headers });
  t.is(second.status, 202);
  t.deepEqual(second.body, first.body);
  t.is(((await user.send('GET', '/v1/jobs')).body as object[]).length, 1);
});

test('a failed job is retried as a new one, three times at most', async (t) => {
  const user = await createSubmitter(vault);
  let jobId = await createFailed(user);
  for (const retryCount of [1, 2, 3]) {
    const { status, body } = await user.send('POST', `/v1/jobs/${jobId}/retry`);
    t.is(status, 202);
    const retried = body as { jobId: string; originalJobId: string };
    t.like(retried, { originalJobId: jobId, status: 'PENDING', retryCount });
    t.like(await user.get(jobId), { status: 'RETRIED', error: 'away' });
    const [entry] = (await entriesOf(sql, { resource: jobId })).slice(-1);
    t.like(entry, { action: 'job.retried', data: { jobId: retried.jobId, retryCount } });
    const shown = await user.untilOver(retried.jobId);
    t.like(shown, { status: 'COMPLETED', originalJobId: jobId, retryCount });
    jobId = retried.jobId;
    await sql(
      `update jobs set state = 'FAILED', error = 'away', retryable = true, result = null,
         payload = '{"email":"a@example.org"}' where id = $1`,
      [jobId],
    );
  }
  const fourth = await user.send('POST', `/v1/jobs/${jobId}/retry`);
  assertError(t, fourth, { status: 400, code: 'job_retries_used_up' });
});

test('only a job that failed and may be retried can be retried', async (t) => {
  const user = await createSubmitter(vault);
  const retry = (jobId: string) => user.send('POST', `/v1/jobs/${jobId}/retry`);
  const hopeless = await createFailed(user, { retryable: false });
  assertError(t, await retry(hopeless), { status: 400, code: 'job_not_retryable' });
  const done = await user.submit('EMAIL_VALIDATION', someone());
  await user.untilOver(done);
  assertError(t, await retry(done), { status: 400, code: 'job_not_failed' });
  const running = await createFailed(user);
  await sql(
    `update jobs set state = 'ACTIVE', held_until = now() + interval '1 minute',
       finished_at = null, error = null, retryable = null where id = $1`,
    [running],
  );
  assertError(t, await retry(running), { status: 400, code: 'job_not_failed' });
  t.is((await user.get(running)).status, 'ACTIVE');
  const twice = await createFailed(user);
  const answers = await Promise.all([retry(twice), retry(twice)]);
  const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
  t.deepEqual(statuses, [202, 400]);
});

test('a user has at most a hundred jobs that are not over', async (t) => {
  const user = await createSubmitter(vault);
  const { userId } = user.caller;
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, request_id, available_at)
     select gen_random_uuid(), $1, 'default', 'EMAIL_VALIDATION', gen_random_uuid(),
       now() + interval '1 day' from generate_series(1, 99)`,
    [userId],
  );
  const json = { type: 'EMAIL_VALIDATION', payload: someone() };
  const post = () => user.send('POST', '/v1/jobs', { json });
  const answers = await Promise.all([post(), post(), post()]);
  t.true(answers.some(({ status }) => status === 202));
  await sql(`update jobs set available_at = now() + interval '1 day' where user_id = $1`, [userId]);
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, request_id, available_at)
     values (gen_random_uuid(), $1, 'default', 'EMAIL_VALIDATION', gen_random_uuid(),
       now() + interval '1 day')`,
    [userId],
  );
  const refused = await post();
  const { details } = assertError(t, refused, { status: 429, code: 'quota_exceeded' });
  t.is(details?.[0]?.path, 'jobs');
});

test('bad input is refused, and nothing is stored', async (t) => {
  const user = await createSubmitter(vault);
  const bad = { status: 400, code: 'validation_failed' };
  const large = 'a'.repeat(17 * 1_024);
  for (const json of [
    { type: 'UNKNOWN', payload: someone() },
    { type: 'EMAIL_VALIDATION' },
    { type: 'EMAIL_VALIDATION', payload: { email: 'no address' } },
    { type: 'EMAIL_VALIDATION', payload: { ...someone(), more: 1 } },
    { type: 'EMAIL_VALIDATION', payload: someone(), more: 1 },
    { type: 'EMAIL_VALIDATION', payload: [] },
    [],
  ]) {
    const answer = await user.send('POST', '/v1/jobs', { json });
    assertError(t, answer, bad, JSON.stringify(json));
  }
  const json = { type: 'EMAIL_VALIDATION', payload: { email: large } };
  const tooLarge = await user.send('POST', '/v1/jobs', { json });
  assertError(t, tooLarge, { status: 413, code: 'body_too_large' });
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  for (const path of [
    `/v1/jobs/failed?since=${tomorrow}`,
    '/v1/jobs/failed?since=yesterday',
    '/v1/jobs/failed?limit=-1',
    '/v1/jobs/failed?limit=0',
    '/v1/jobs/failed?limit=1001',
    '/v1/jobs/failed?retryable=maybe',
    '/v1/jobs/failed?jobType=UNKNOWN',
    '/v1/jobs/purgeable?olderThan=30x',
    '/v1/jobs/purgeable?olderThan=0d',
    '/v1/jobs/purgeable?limit=-1',
    '/v1/jobs?limit=-1',
    '/v1/jobs?cursor=1',
    '/v1/jobs/no-id',
    '/v1/jobs/no-id/events',
  ]) {
    assertError(t, await user.send('GET', path), bad, path);
  }
  for (const query of ['olderThan=30x', 'target=both', 'target=s3', 'dryRun=1', 'more=1']) {
    assertError(t, await user.send('DELETE', `/v1/jobs/purge?${query}`), bad, query);
  }
  assertError(t, await user.send('POST', '/v1/jobs/no-id/retry'), bad);
  t.deepEqual((await user.send('GET', '/v1/jobs')).body, []);
});

test('without the scope or the role the routes are refused', async (t) => {
  const denied = { status: 403, code: 'access_denied' };
  const unscoped = await createSubmitter(vault, { scopes: ['documents:read'] });
  for (const path of ['/v1/jobs', `/v1/jobs/${randomUUID()}`, '/v1/jobs/failed']) {
    assertError(t, await unscoped.send('GET', path), denied, path);
  }
  const user = await createSubmitter(vault, { roles: ['user'] });
  for (const path of ['/v1/jobs/stats', '/v1/jobs/purgeable']) {
    assertError(t, await user.send('GET', path), denied, path);
  }
  assertError(t, await user.send('DELETE', '/v1/jobs/purge'), denied);
});

test('no e-mail address is in the log', async (t) => {
  const user = await createSubmitter(vault);
  const { email } = someone();
  await user.untilOver(await user.submit('EMAIL_VALIDATION', { email }));
  t.true(vault.logLines.length > 0);
  t.false(vault.logLines.join('\n').includes(email));
});
