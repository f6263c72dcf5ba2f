import { createHash, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { send } from '../../support/http/send.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { startDlqVault, type DlqVault } from './dead-letters.ts';
import { askOpenssl } from '../../support/audit/openssl.ts';

let dlq: DlqVault;
const teardowns: (() => unknown)[] = [];

test.before(async () => {
  dlq = await startDlqVault({ teardown: (fn) => void teardowns.unshift(fn) });
});
test.after.always(async () => {
  for (const teardown of teardowns) await teardown();
});

/** Requests the proof as an auditor until the entry is signed. */
async function proofOf(id: string): Promise<AuditProof> {
  const auditor = await createApi(dlq.vault, { roles: ['auditor'] });
  return until(
    async () => {
      const { status, body } = await auditor.send('GET', `/v1/audit/proof/${id}`);
      return status === 200 && (body as unknown as AuditProof);
    },
    { what: 'the proof', timeoutMs: 60_000 },
  );
}

async function assertVerifies(t: ExecutionContext, proof: AuditProof): Promise<void> {
  t.is(await askOpenssl(proof), 'Verified OK');
}

test('a retry seals a repaired entry once, and is itself recorded in the log', async (t) => {
  const dead = await dlq.killOne();
  const { id, text } = dead;
  t.like(await dlq.ask('POST', `${id}/retry?by=Ada%20of%20the%20night%20shift`), {
    status: 200,
    body: { id, status: 'PENDING', attempts: 6, lastError: 'not_canonical' },
  });
  await dlq.mend(dead);
  const expected = { id, status: 'RECOVERED', attempts: 6, lastError: null };
  for (let times = 0; times < 2; times += 1) {
    t.like(await dlq.ask('POST', `${id.toUpperCase()}/retry`), { status: 200, body: expected });
  }
  t.like(await dlq.stateOf(id), { state: 'SEALED', claim_id: null, status: 'RECOVERED' });
  const proof = await proofOf(id);
  const { sealedAt: _, ...appended } = JSON.parse(proof.entryCanonical) as Record<string, unknown>;
  t.deepEqual(appended, JSON.parse(text));
  await assertVerifies(t, proof);
  const actor = { type: 'user', id: dlq.operator.caller.userId };
  const owner = dlq.open.owner.userId;
  t.like(await dlq.recordsOf(id), [
    {
      action: 'audit.retried',
      actor,
      outcome: 'failure',
      resource: { type: 'audit_entry', id, owner },
      data: {
        status: 'PENDING',
        attempts: 6,
        lastError: 'not_canonical',
        by: 'Ada of the night shift',
      },
    },
    {
      actor,
      outcome: 'success',
      data: { status: 'RECOVERED', attempts: 6, lastError: null, by: null },
    },
  ]);
  t.is((await dlq.recordsOf(id)).length, 2);
  t.is((await dlq.ask('POST', `${id}/abandon`)).body['code'], 'entry_not_dead');
});

test('an abandoned entry leaves a signed tombstone, and the decision is final', async (t) => {
  const dead = await dlq.killOne();
  const { id, resourceId } = dead;
  const answer = await send(
    'POST',
    `${dlq.vault.baseUrl}/v1/audit/proof/dlq/${id}/abandon?reason=cut%20in%20two&by=Ada`,
    { headers: { 'X-Internal-Api-Key': dlq.keys.admin } },
  );
  t.is(answer.status, 200);
  t.like(answer.body, { id, status: 'UNRECOVERABLE', reason: 'cut in two', by: 'Ada' });
  t.regex((answer.body as { at: string }).at, /^\d{4}-.*\.\d{3}Z$/);
  const state = await dlq.stateOf(id);
  t.like(state, { state: 'ABANDONED', status: 'ABANDONED' });

  const [tombstone] = await dlq.recordsOf(id);
  t.is(state?.['tombstone_id'], tombstone?.id);
  const spoilt = `{"b":1,"a":2,"id":"${id}"}`;
  t.like(tombstone, {
    action: 'audit.abandoned',
    actor: { type: 'system', id: 'test-admin' },
    resource: { type: 'audit_entry', id, owner: dlq.open.owner.userId },
    data: {
      textHash: createHash('sha3-256').update(spoilt).digest('hex'),
      resourceType: 'upload',
      resourceId,
      seq: 1,
      lastError: 'not_canonical',
      reason: 'cut in two',
      by: 'Ada',
    },
  });
  await assertVerifies(t, await proofOf(String(tombstone?.id)));
  for (const action of ['retry', 'abandon']) {
    const again = await dlq.ask('POST', `${id}/${action}`);
    t.is(again.status, 409);
    t.is(again.body['code'], 'entry_not_dead');
  }
  t.is((await dlq.recordsOf(id)).length, 1);
});

test('a reason in the request body is refused, and abandons nothing', async (t) => {
  const { id } = await dlq.killOne();
  const path = `/v1/audit/proof/dlq/${id}/abandon`;
  const { status, body } = await dlq.operator.send('POST', path, { json: { reason: 'cut' } });
  t.is(status, 400);
  t.deepEqual(body['details'], [{ path: 'reason', message: 'unknown field' }]);
  t.like(await dlq.stateOf(id), { state: 'DEAD', status: 'PENDING' });
  t.is((await dlq.operator.send('POST', path, { json: {} })).status, 200);
});

test('exactly one of concurrent retries and abandonments takes effect', async (t) => {
  const dead = await dlq.kill(24);
  for (const entry of dead) await dlq.mend(entry);
  await Promise.all(
    dead.map(async ({ id }, index) => {
      const actions = index % 2 === 0 ? ['retry', 'abandon'] : ['abandon', 'retry'];
      const answers = await Promise.all(
        [...actions, ...actions].map((action) => dlq.ask('POST', `${id}/${action}`)),
      );
      for (const { status, body } of answers) {
        if (status === 200) continue;
        t.is(status, 409);
        t.true(['entry_not_dead', 'retry_in_progress'].includes(String(body['code'])));
      }
      const outcomes = answers.flatMap(({ status, body }) =>
        status === 200 ? [String(body['status'])] : [],
      );
      t.is(new Set(outcomes).size, 1, outcomes.join());
      const state = await dlq.stateOf(id);
      const isGivenUp = outcomes[0] === 'UNRECOVERABLE';
      t.is(state?.['state'], isGivenUp ? 'ABANDONED' : 'SEALED');
      t.is((await dlq.recordsOf(id)).length, 1);
    }),
  );
});

test('entries outside of the queue are not found; malformed requests are refused', async (t) => {
  const dead = await dlq.killOne();
  const { id } = dead;
  // Entries that other tests have brought back from the queue have a dead letter and do not count.
  const neverDead = `select id from audit_entries e where state = 'SEALED' and not exists (
    select from audit_dead_letters where entry_id = e.id) limit 1`;
  const sealed = await until(async () => (await dlq.sql(neverDead))[0], {
    what: 'a sealed entry',
    timeoutMs: 60_000,
  });
  for (const [method, path, status, code] of [
    ['POST', `${randomUUID()}/retry`, 404, 'not_found'],
    ['POST', `${randomUUID()}/abandon`, 404, 'not_found'],
    ['POST', `${String(sealed['id'])}/retry`, 404, 'not_found'],
    ['POST', `${String(sealed['id'])}/abandon`, 404, 'not_found'],
    ['POST', 'jam/retry', 400, 'validation_failed'],
    ['POST', 'retry?batchSize=0', 400, 'validation_failed'],
    ['POST', 'retry?batchSize=201', 400, 'validation_failed'],
    ['POST', 'retry?batchSize=1e2', 400, 'validation_failed'],
    ['POST', 'retry?batchSize=1&batchSize=2', 400, 'validation_failed'],
    ['POST', `${id}/retry?by=`, 400, 'validation_failed'],
    ['POST', `${id}/retry?by=${'a'.repeat(129)}`, 400, 'validation_failed'],
    ['POST', `${id}/retry?reason=jam`, 400, 'validation_failed'],
    ['POST', `${id}/abandon?reason=a%0Ab`, 400, 'validation_failed'],
    ['POST', `${id}/abandon?reason=a%7F`, 400, 'validation_failed'],
    ['POST', `${id}/abandon?by=a%E2%80%A8b`, 400, 'validation_failed'],
    ['POST', `${id}/abandon?reason=${'a'.repeat(513)}`, 400, 'validation_failed'],
    ['GET', 'stats?jam=1', 400, 'validation_failed'],
  ] as const) {
    const answer = await dlq.ask(method, path);
    t.is(answer.status, status, path);
    t.is(answer.body['code'], code, path);
  }
  t.like(await dlq.stateOf(id), { state: 'DEAD', attempts: 5, status: 'PENDING' });
  t.deepEqual(await dlq.recordsOf(id), []);
});

test('only operators, administrators and internal keys reach the queue', async (t) => {
  const { vault, keys } = dlq;
  const dead = await dlq.killOne();
  const admin = await createApi(vault, { roles: ['probatio_admin'] });
  const others = [
    await createApi(vault, { roles: ['user'] }),
    await createApi(vault, { roles: ['auditor'] }),
  ];
  for (const [method, path] of [
    ['GET', 'stats'],
    ['GET', 'alerts'],
    ['POST', 'retry?batchSize=1'],
    ['POST', `${dead.id}/retry`],
    ['POST', `${dead.id}/abandon`],
  ] as const) {
    const url = `/v1/audit/proof/dlq/${path}`;
    for (const other of others) t.is((await other.send(method, url)).status, 403, path);
    t.is((await send(method, vault.baseUrl + url)).status, 401, path);
    const withKey = (key: string) =>
      send(method, vault.baseUrl + url, { headers: { 'X-Internal-Api-Key': key } });
    t.is((await withKey(keys.plain)).status, 403, path);
    if (method === 'POST') continue;
    t.is((await withKey(keys.admin)).status, 200, path);
    t.is((await admin.send(method, url)).status, 200, path);
  }
  t.like(await dlq.stateOf(dead.id), { state: 'DEAD', attempts: 5 });
});
