import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createObjectStore } from '../../app/storage/create-store.ts';
import { startVaultWithSigner } from '../support/audit/killable-signer.ts';
import { storeDocument, storeVersion } from '../support/documents/documents.ts';
import { listStore } from '../uploads/cleanup/listed-store.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { createSql } from '../support/vault/sql.ts';
import type { Vault } from '../support/vault/vault.ts';
import {
  download,
  runScript,
  submitExport,
  unpack,
  untilOver,
  writeFolder,
  type ExportResult,
} from '../support/jobs/evidence-exports.ts';
import { putInDlq } from '../support/audit/unsealed.ts';

const scopes = ['documents:read', 'documents:write', 'uploads:write', 'jobs:submit', 'audit:read'];

/** Resolves with what the script says of the export of a job, once the job is completed. */
async function verify(t: ExecutionContext, vault: Vault, api: Api, jobId: string) {
  const job = await untilOver(api, jobId);
  t.is(job['status'], 'COMPLETED', JSON.stringify(job));
  const { downloadPath, through } = job['result'] as ExportResult;
  const files = unpack(await download(vault, api, downloadPath));
  const keys = [...files.keys()].filter(
    (name) => name.endsWith('.pem') && name.startsWith('keys/'),
  );
  const named = keys.map((name) => name.slice('keys/'.length, -'.pem'.length));
  return { through, ...(await runScript(await writeFolder(t, files), ...named)) };
}

test('an export waits for seals, and entries that are made meanwhile are counted', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner();
  t.teardown(stop);
  const api = await createApi(vault, { scopes });
  await signer.kill();
  const { id } = await storeDocument(t, api);
  const jobId = await submitExport(api, { documentId: id });
  const store = await createObjectStore(vault.config.storage);
  t.teardown(() => store.close());
  // The job knows the last entry before it opens its upload.
  await until(async () => (await listStore(store)).uploads.length > 0, {
    what: 'the upload of the archive',
    timeoutMs: 60_000,
  });
  await storeVersion(t, api, id);
  await storeVersion(t, api, id);
  await signer.start();
  const { status, text, through } = await verify(t, vault, api, jobId);
  t.is(status, 0, text);
  t.is(through, 1);
  t.regex(text, /^not here: 2 entries that were made while the export was written$/m);
});

test('the tombstone of an abandoned entry stands in its place', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner();
  t.teardown(stop);
  const sql = createSql(vault);
  const api = await createApi(vault, { scopes });
  const operator = await createApi(vault, { scopes, roles: ['operator'] });
  await signer.kill();
  const { id } = await storeDocument(t, api);
  await storeVersion(t, api, id);
  const [entry] = await sql('select id from audit_entries where resource_id = $1 and seq = 1', [
    id,
  ]);
  const entryId = String(entry?.['id']);
  await putInDlq(sql, [entryId]);
  const reason = encodeURIComponent('"}],"resourceId":"x","seq":2,"textHash":"');
  const abandoned = await operator.send(
    'POST',
    `/v1/audit/proof/dlq/${entryId}/abandon?reason=${reason}&by=Ada`,
  );
  t.is(abandoned.status, 200, JSON.stringify(abandoned.body));
  await signer.start();
  const { status, text } = await verify(t, vault, api, await submitExport(api, { documentId: id }));
  t.is(status, 0, text);
  t.regex(text, /^not here: the entries 1, which could not be signed/m);
});
