import { randomUUID } from 'node:crypto';
import anyTest from 'ava';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { gather } from '../../support/client/collect.ts';
import { storeBytes } from '../../support/client/stored.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault } from '../../support/vault/vault.ts';

// Serial, since one test lists all jobs of the user.
const test = anyTest.serial;

const vault = await startReadyVault();
const account = await createUser(vault, connect(vault));
const { session, credentials } = account;
anyTest.after.always(() => vault.stop());

test('a job is submitted, waited for, listed and retried', async (t) => {
  const { jobs } = session;
  const { jobId } = await jobs.submit('EMAIL_VALIDATION', { email: credentials.email });
  const job = await jobs.untilOver(jobId);
  t.like(job, { jobId, status: 'COMPLETED', result: { processed: true }, error: null });
  const listed = await gather(jobs.list({ pageSize: 1 }));
  t.deepEqual(
    listed.map((each) => each.jobId),
    [jobId],
  );
  const failed = randomUUID();
  await createSql(vault)(
    `insert into jobs (id, user_id, tenant_id, type, request_id, payload, state, error, retryable,
       finished_at)
     select $2, user_id, tenant_id, type, request_id, $3, 'FAILED', 'away', true, now()
     from jobs where id = $1`,
    [jobId, failed, JSON.stringify({ email: credentials.email, tenantId: null, isMailed: false })],
  );
  const retried = await jobs.retry(failed);
  t.like(retried, { originalJobId: failed, retryCount: 1 });
  t.like(await jobs.untilOver(retried.jobId), { status: 'COMPLETED', originalJobId: failed });
  const refused = await t.throwsAsync(jobs.retry(jobId), { instanceOf: VaultError });
  t.is(refused?.code, 'job_not_failed');
});

test('the archive of an evidence export is read as a stream', async (t) => {
  const { jobs } = session;
  const { document } = await storeBytes(account, 5);
  const payload = { documentId: document.id, includeFile: true };
  const { jobId } = await jobs.submit('EVIDENCE_EXPORT', payload);
  const { result } = await jobs.untilOver(jobId);
  const pieces = await gather(await jobs.openExport(jobId));
  t.is(Buffer.concat(pieces).length, (result as { readonly size: number }).size);
  const refused = jobs.openExport(randomUUID());
  t.is((await t.throwsAsync(refused, { instanceOf: VaultError }))?.code, 'not_found');
});

test('waiting for a job ends with the signal', async (t) => {
  const waiting = randomUUID();
  await createSql(vault)(
    `insert into jobs (id, user_id, tenant_id, type, request_id, available_at)
     select $1, id, tenant_id, 'EMAIL_VALIDATION', gen_random_uuid(), now() + interval '1 day'
     from accounts where email = $2`,
    [waiting, credentials.email],
  );
  const signal = AbortSignal.timeout(100);
  await t.throwsAsync(session.jobs.untilOver(waiting, { signal }), { name: 'TimeoutError' });
});
