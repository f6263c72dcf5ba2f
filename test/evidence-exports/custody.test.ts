import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { storeDocument } from '../support/documents/documents.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { download, exportDocument, type ExportResult } from '../support/jobs/evidence-exports.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;
const scopes = ['documents:read', 'documents:write', 'uploads:write', 'audit:read', 'jobs:submit'];

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

interface Exported extends ExportResult {
  readonly jobId: string;
}

async function exportFile(api: Api, documentId: string): Promise<Exported> {
  const result = await exportDocument(api, { documentId, includeFile: true });
  return { ...result, jobId: result.downloadPath.split('/')[3] ?? '' };
}

/** Waits for `count` entries of downloads of the archive of a job. */
function downloadsOf(sql: Sql, { documentId, jobId }: Exported, count: number) {
  return until(
    async () => {
      const entries = await entriesOf(sql, { resource: documentId });
      const own = entries.filter(({ data }) => (data as { jobId?: string }).jobId === jobId);
      return own.length >= count && own;
    },
    { what: `${count} entries of downloads of an archive`, timeoutMs: 60_000 },
  );
}

test('each download of an archive is an entry of its document, an operator’s too', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault, { scopes });
  const operator = await createApi(vault, { scopes, roles: ['user', 'operator'] });
  const { id } = await storeDocument(t, api);
  const exported = await exportFile(api, id);
  await download(vault, api, exported.downloadPath);
  await downloadsOf(sql, exported, 1);
  await download(vault, operator, exported.downloadPath);
  const entries = await downloadsOf(sql, exported, 2);
  const { jobId, hash: fileHash, size: bytes } = exported;
  const data = { jobId, fileHash, bytes, complete: true };
  t.deepEqual(
    entries.map(({ action, actor, data: found }) => ({ action, actor, data: found })),
    [api, operator].map(({ caller }) => ({
      action: 'document.downloaded',
      actor: { type: 'user', id: caller.userId },
      data,
    })),
  );
});

test('ranges of an archive are summed up, and HEAD, 304, 404 and 416 are none', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault, { scopes });
  const stranger = await createApi(vault, { scopes });
  const { id } = await storeDocument(t, api);
  const exported = await exportFile(api, id);
  const ask = async (headers: Record<string, string>, { method = 'GET', by = api } = {}) => {
    const response = await fetch(vault.baseUrl + exported.downloadPath, {
      method,
      headers: { authorization: `Bearer ${by.token}`, ...headers },
    });
    await response.arrayBuffer();
    return response.status;
  };
  t.is(await ask({}, { method: 'HEAD' }), 200);
  t.is(await ask({ 'if-none-match': `"${exported.hash}"` }), 304);
  t.is(await ask({ range: `bytes=${exported.size}-` }), 416);
  t.is(await ask({}, { by: stranger }), 404);
  t.deepEqual(await sql('select id from downloads where job_id = $1', [exported.jobId]), []);
  t.is(await ask({ range: 'bytes=0-9' }), 206);
  t.is(await ask({ range: 'bytes=10-29' }), 206);
  await sql(
    `update downloads set began_at = began_at - interval '1 minute',
       ended_at = ended_at - interval '1 minute' where job_id = $1`,
    [exported.jobId],
  );
  await until(
    async () => {
      // The end of the second range may be stored later than the statement above.
      await sql(
        `update downloads set ended_at = now() - interval '1 minute'
         where job_id = $1 and ended_at is not null`,
        [exported.jobId],
      );
      return (
        (await sql('select 1 from downloads where job_id = $1', [exported.jobId])).length === 0
      );
    },
    { what: 'the ranges to be an entry', timeoutMs: 60_000 },
  );
  const entries = await downloadsOf(sql, exported, 1);
  const bytes = entries.map(({ data }) => (data as { bytes: number }).bytes);
  t.is(
    bytes.reduce((sum, each) => sum + each, 0),
    30,
  );
});

test('the app login begins only downloads of its caller’s archives', async (t) => {
  const { vault } = t.context;
  const [api, stranger] = [await createApi(vault, { scopes }), await createApi(vault, { scopes })];
  const { id } = await storeDocument(t, api);
  const { jobId, hash } = await exportFile(api, id);
  const app = await connectAs(vault.databases.app);
  t.teardown(() => app.end());
  const begins = async ({ caller }: Api, change: object): Promise<boolean> => {
    const row = {
      id: randomUUID(),
      user_id: api.caller.userId,
      tenant_id: 'default',
      document_id: id,
      job_id: jobId,
      file_hash: hash,
      reader_id: caller.userId,
      request_id: randomUUID(),
      is_part: false,
      began_at: new Date(),
      held_until: new Date(),
      is_complete: false,
      ...change,
    };
    await app.query('begin');
    try {
      await app.query(
        `select set_config('app.user_id', $1, true), set_config('app.tenant_id', 'default', true)`,
        [caller.userId],
      );
      await app.query(
        'insert into downloads select * from json_populate_record(null::downloads, $1)',
        [JSON.stringify(row)],
      );
      return true;
    } catch (error) {
      t.is((error as { code?: string }).code, '42501');
      return false;
    } finally {
      await app.query('rollback');
    }
  };
  t.true(await begins(api, {}));
  t.false(await begins(stranger, {}));
  t.false(await begins(stranger, { user_id: stranger.caller.userId }));
  t.false(await begins(api, { job_id: randomUUID() }));
  t.false(await begins(api, { file_hash: 'ab' }));
  t.false(await begins(api, { share_id: randomUUID() }));
});
