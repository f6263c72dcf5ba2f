import test, { type ExecutionContext } from 'ava';
import { systemClock } from '../../../app/async/clock.ts';
import { createAuditTrail } from '../../../app/audit-trail/audit-trail.ts';
import { createFileCheck } from '../../../app/documents/fixity/file-check.ts';
import { createVerifyFiles } from '../../../app/maintenance/tasks/verify-files.ts';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { createObjectHasher } from '../../../app/storage/object-hash.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { openDatabase } from '../../../app/db/database.ts';
import { certify, storeDocument } from '../../support/documents/documents.ts';
import { damages } from '../../support/documents/stored-files.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { serviceRequest } from '../../support/http/service-request.ts';
import { createSql } from '../../support/vault/sql.ts';
import { testIssuer } from '../../support/vault/stack.ts';
import { startReadyVault } from '../../support/vault/vault.ts';

/** Opens the task with a time limit of 0 minutes, and a vault with sealed documents. */
async function openTask(t: ExecutionContext, documents: number) {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const api = await createApi(vault);
  const stored = [];
  for (let n = 0; n < documents; n += 1) {
    const document = await storeDocument(t, api);
    await certify(api, document.id);
    stored.push(document);
  }
  const db = await openDatabase({ ...vault.config.database, checksLocks: true });
  const hasher = createObjectHasher(vault.config.storage, { concurrency: 1 });
  t.teardown(async () => {
    await hasher.close();
    await db.close();
  });
  const task = createVerifyFiles({
    db,
    audit: createAuditTrail({
      issuer: testIssuer,
      clock: systemClock,
      assertClock: () => undefined,
      onCommitted: () => undefined,
      isBacklogFull: () => false,
    }),
    store: await createObjectStore(vault.config.storage),
    checkFile: createFileCheck(hasher),
    log: createLog('info', { write: () => undefined }),
    fixityDays: 90,
    fixityBytesPerSecond: 10 ** 9,
    fixityMinutes: 0,
  });
  const batches = () => {
    const all = task.batches(serviceRequest({ internalKey: 'test' }), { dryRun: false });
    return all[Symbol.asyncIterator]();
  };
  return { vault, db, sql: createSql(vault), stored, batches };
}

test('a run whose time is over begins no other file; the longest unchecked is first', async (t) => {
  const { db, sql, stored, batches } = await openTask(t, 3);
  const ages = [100, 200, 150];
  for (const [index, { id }] of stored.entries()) {
    await sql(
      `update object_checks set checked_at = now() - make_interval(days => $2)
       where document_id = $1`,
      [id, ages[index]],
    );
  }
  const order = [];
  for (let run = 0; run < 3; run += 1) {
    const checks = [];
    const iterator = batches();
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      checks.push(await db.asService(next.value));
    }
    t.deepEqual(checks, [{ checkedFiles: 1, damagedFiles: 0 }]);
    const [row] = await sql(
      'select document_id from object_checks order by checked_at desc limit 1',
    );
    order.push(row?.['document_id']);
  }
  t.deepEqual(order, [stored[1]?.id, stored[2]?.id, stored[0]?.id]);
});

test('a document that is removed while its file is read is not reported', async (t) => {
  const { vault, db, sql, stored, batches } = await openTask(t, 1);
  const [document] = stored;
  const missing = damages.find(({ state }) => state === 'missing');
  await missing?.damage(vault, document?.fileKey ?? '');
  const { value: batch } = await batches().next();
  await sql('delete from documents where id = $1', [document?.id]);
  t.deepEqual(await db.asService(batch), { checkedFiles: 0, damagedFiles: 0 });
  const entries = await sql(`select 1 from audit_entries where action = 'document.fixity_failed'`);
  t.deepEqual(entries, []);
});
