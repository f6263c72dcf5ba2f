import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createObjectStore } from '../../app/storage/create-store.ts';
import type { ObjectStore } from '../../app/storage/interface/object-store.ts';
import { close, createMember } from '../support/accounts/closing.ts';
import { certify, removeDocument, storeDocument } from '../support/documents/documents.ts';
import { objectDirectory, partFile } from '../support/documents/stored-files.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import {
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';
import { listStore } from '../uploads/cleanup/listed-store.ts';
import { storeUnknown } from '../maintenance/garbage.ts';
import {
  exportDocument,
  submitExport,
  untilOver,
  type ExportResult,
} from '../support/jobs/evidence-exports.ts';

const test = anyTest as TestFn<MaintenanceVault & { readonly store: ObjectStore }>;
const scopes = ['documents:read', 'documents:write', 'uploads:write', 'jobs:submit'];

test.before(async (t) => {
  const vault = await startMaintenanceVault({ MAINTENANCE_GARBAGE_GRACE_HOURS: '0' });
  t.context = { ...vault, store: await createObjectStore(vault.vault.config.storage) };
});
test.after.always(async (t) => {
  await t.context.store.close();
  await t.context.stop();
});

const jobOf = ({ downloadPath }: ExportResult) => downloadPath.split('/')[3] ?? '';

const archivesOf = async (store: ObjectStore, result: ExportResult) =>
  (await listStore(store)).objects.filter((key) => key.startsWith(`exports/${jobOf(result)}/`));

async function exportOne(t: ExecutionContext, api: Api) {
  const { id } = await storeDocument(t, api);
  return { id, result: await exportDocument(api, { documentId: id }) };
}

function untilRemoved(store: ObjectStore, result: ExportResult): Promise<unknown> {
  return until(async () => (await archivesOf(store, result)).length === 0, {
    what: 'the archive to be removed',
    timeoutMs: 60_000,
  });
}

test.serial('an archive is removed with its document, its job, or for a newer one', async (t) => {
  const { vault, sql, store } = t.context;
  const api = await createApi(vault, { scopes });
  const deleted = await exportOne(t, api);
  t.is((await archivesOf(store, deleted.result)).length, 1);
  t.is((await removeDocument(api, deleted.id)).status, 204);
  await untilRemoved(store, deleted.result);

  const replaced = await exportOne(t, api);
  const newer = await exportDocument(api, { documentId: replaced.id });
  await untilRemoved(store, replaced.result);
  t.is((await archivesOf(store, newer)).length, 1);

  const tenantId = randomUUID();
  const elsewhere = await createApi(vault, { scopes, tenantId });
  const operator = await createApi(vault, { scopes, tenantId, roles: ['user', 'operator'] });
  const purged = await exportOne(t, elsewhere);
  await sql(`update jobs set finished_at = now() - interval '40 days' where id = $1`, [
    jobOf(purged.result),
  ]);
  const { status, body } = await operator.send('DELETE', '/v1/jobs/purge?target=db');
  t.like({ status, purged: body['purged'] }, { status: 200, purged: { db: 1 } });
  await untilRemoved(store, purged.result);
});

test.serial('closing the account removes its archives', async (t) => {
  const { vault, store } = t.context;
  const member = await createMember(vault);
  const api = await createApi(vault, { scopes, userId: member.userId });
  const { id } = await storeDocument(t, api);
  await certify(api, id);
  const result = await exportDocument(api, { documentId: id, includeFile: true });
  t.is((await close(vault, member)).status, 204);
  await untilRemoved(store, result);
});

test.serial('maintenance removes expired archives, and those without a job', async (t) => {
  const { vault, sql, store, counts } = t.context;
  const api = await createApi(vault, { scopes });
  const kept = await exportOne(t, api);
  const expired = await exportOne(t, api);
  await sql(`update evidence_exports set expires_at = now() where job_id = $1`, [
    jobOf(expired.result),
  ]);
  const { body } = await api.send('GET', expired.result.downloadPath);
  t.is(body['code'], 'export_expired');
  const key = () => `exports/${randomUUID()}/${randomUUID()}.zip`;
  const completed = await storeUnknown(store, { key: key(), completed: true });
  const begun = await storeUnknown(store, { key: key() });
  t.like(await counts('collect-garbage', '?dryRun=true'), {
    removedExports: 1,
    deletedObjects: 1,
    abortedUploads: 1,
  });
  t.like(await counts('collect-garbage'), {
    removedExports: 1,
    deletedObjects: 1,
    abortedUploads: 1,
  });
  await untilRemoved(store, expired.result);
  await until(async () => (await store.stat(completed.key)) === undefined, {
    what: 'the unknown archive to be removed',
    timeoutMs: 60_000,
  });
  t.false((await listStore(store)).uploads.includes(begun.uploadId));
  t.is((await archivesOf(store, kept.result)).length, 1);
});

test.serial(
  'a stored file that is damaged or gone fails the job, and leaves nothing',
  async (t) => {
    const { vault, store } = t.context;
    const api = await createApi(vault, { scopes });
    const damaged = await storeDocument(t, api);
    await writeFile(await partFile(vault, damaged.fileKey), Buffer.alloc(100));
    const gone = await storeDocument(t, api);
    await rm(objectDirectory(vault, gone.fileKey), { recursive: true });
    const { uploads: open } = await listStore(store);
    for (const { id } of [damaged, gone]) {
      const job = await untilOver(
        api,
        await submitExport(api, { documentId: id, includeFile: true }),
      );
      t.like(job, { status: 'FAILED', error: 'stored_file_changed', retryable: false });
      t.deepEqual((await listStore(store)).uploads, open);
      // Without the files, there is nothing wrong. A file that was read until then is recorded.
      t.true((await exportDocument(api, { documentId: id })).through >= 1);
    }
  },
);
