import { createHash } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createApi, type Answer, type Api } from '../support/documents/uploads.ts';
import {
  certify,
  removeDocument,
  storeDocument,
  storeVersion,
} from '../support/documents/documents.ts';
import { bytesOf } from '../support/documents/files.ts';
import { send } from '../support/http/send.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import {
  download,
  exportDocument,
  submitExport,
  unpack,
  untilOver,
} from '../support/jobs/evidence-exports.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;
const scopes = ['documents:read', 'documents:write', 'uploads:write', 'audit:read', 'jobs:submit'];

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const sha3 = (bytes: Buffer) => createHash('sha3-256').update(bytes).digest('hex');
function assertRefused(
  t: ExecutionContext,
  { status, body }: Answer,
  expected: { readonly status: number; readonly code: string },
) {
  t.like({ ...body, status }, expected, JSON.stringify(body));
}

const textOf = (bytes: Buffer | undefined) => String(bytes);

test('an archive has every entry, the keys and the stored files, and is recorded', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault, { scopes });
  const first = bytesOf(70_000);
  const { id } = await storeDocument(t, api, first);
  await certify(api, id);
  const second = bytesOf(3);
  await storeVersion(t, api, id, second);
  const result = await exportDocument(api, { documentId: id, includeFile: true });
  t.like(result, { documentId: id, through: 3 });
  const archive = await download(vault, api, result.downloadPath);
  t.is(archive.length, result.size);
  t.is(sha3(archive), result.hash);
  const files = unpack(archive);
  t.deepEqual(files.get('versions/1.bin'), Buffer.from(first));
  t.deepEqual(files.get('versions/2.bin'), Buffer.from(second));
  const actions = [1, 2, 3].map((seq) => {
    const entry = JSON.parse(textOf(files.get(`entries/0000000${seq}/entry.json`))) as {
      readonly action: string;
    };
    return entry.action;
  });
  t.deepEqual(actions, ['document.created', 'document.sealed', 'document.version_added']);
  const manifest = files.get('manifest.txt') ?? Buffer.alloc(0);
  t.is(sha3(manifest), result.manifestHash);
  for (const line of textOf(manifest).trimEnd().split('\n')) {
    const [hash, name = ''] = line.split(' *');
    t.is(hash, sha3(files.get(name) ?? Buffer.alloc(0)), name);
  }
  const entries = await until(
    async () => {
      const found = await entriesOf(sql, { resource: id });
      // The last one tells of the download of the archive itself.
      return found.length === 7 && found.slice(3);
    },
    { what: 'the entries of the export', timeoutMs: 60_000 },
  );
  const downloaded = entries.filter(
    ({ action, data }) => action === 'document.downloaded' && 'version' in data,
  );
  t.deepEqual(
    downloaded.map(({ data }) => data),
    [first, second].map((bytes, index) => ({
      version: index + 1,
      fileHash: sha3(bytes),
      bytes: bytes.length,
      complete: true,
    })),
  );
  t.like(
    entries.find(({ action }) => action === 'document.exported'),
    {
      actor: { type: 'user', id: api.caller.userId },
      data: { manifestHash: result.manifestHash, through: 3 },
    },
  );
  t.like(JSON.parse(textOf(files.get('exported/proof.json'))), { id: result.proofId });
});

test('an archive without files has none', async (t) => {
  const api = await createApi(t.context.vault, { scopes });
  const { id } = await storeDocument(t, api);
  const { downloadPath } = await exportDocument(api, { documentId: id });
  const files = unpack(await download(t.context.vault, api, downloadPath));
  t.false([...files.keys()].some((name) => name.startsWith('versions/')));
});

test('a range of an archive is sent, and one beyond it is refused', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault, { scopes });
  const { id } = await storeDocument(t, api);
  const { downloadPath, size, hash } = await exportDocument(api, { documentId: id });
  const ask = (range: string) =>
    fetch(vault.baseUrl + downloadPath, {
      headers: { authorization: `Bearer ${api.token}`, range },
    });
  const part = await ask('bytes=0-3');
  t.is(part.status, 206);
  t.is(part.headers.get('etag'), `"${hash}"`);
  t.is(part.headers.get('content-range'), `bytes 0-3/${size}`);
  t.is(Buffer.from(await part.arrayBuffer()).toString('latin1'), 'PK\u0003\u0004');
  const beyond = await ask(`bytes=${size}-`);
  t.is(beyond.status, 416);
  t.regex(beyond.headers.get('content-type') ?? '', /json/);
});

test('whoever may see the job gets the archive, and nobody else', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault, { scopes });
  const { id } = await storeDocument(t, api);
  const { downloadPath, size } = await exportDocument(api, { documentId: id });
  const stranger = await createApi(vault, { scopes });
  assertRefused(t, await stranger.send('GET', downloadPath), { status: 404, code: 'not_found' });
  const operator = await createApi(vault, { scopes, roles: ['user', 'operator'] });
  t.is((await download(vault, operator, downloadPath)).length, size);
  const elsewhere = await createApi(vault, { scopes, roles: ['user', 'operator'], tenantId: 'b' });
  assertRefused(t, await elsewhere.send('GET', downloadPath), { status: 404, code: 'not_found' });
});

test('an export that cannot be is refused, and nothing is stored', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault, { scopes });
  const { id } = await storeDocument(t, api);
  const submit = (by: Api, payload: object) =>
    by.send('POST', '/v1/jobs', { json: { type: 'EVIDENCE_EXPORT', payload } });
  const stranger = await createApi(vault, { scopes });
  const notFound = { status: 404, code: 'not_found' };
  assertRefused(t, await submit(stranger, { documentId: id }), notFound);
  assertRefused(t, await submit(api, { documentId: crypto.randomUUID() }), notFound);
  const invalid = { status: 400, code: 'validation_failed' };
  assertRefused(t, await submit(api, {}), invalid);
  assertRefused(t, await submit(api, { documentId: 'x' }), invalid);
  assertRefused(t, await submit(api, { documentId: id, includeFile: 'yes' }), invalid);
  assertRefused(t, await submit(api, { documentId: id, withKeys: true }), invalid);
  const token = await vault.tokens.access({ ...api.caller, scopes: ['jobs:submit'] });
  const json = { type: 'EVIDENCE_EXPORT', payload: { documentId: id } };
  const narrow = await send('POST', `${vault.baseUrl}/v1/jobs`, { token, json });
  t.like(narrow, { status: 403, body: { code: 'access_denied' } });
  const users = [api.caller.userId, stranger.caller.userId];
  t.deepEqual(await sql('select id from jobs where user_id = any($1)', [users]), []);
});

test('a document has one archive, which goes with it and with its job', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault, { scopes });
  const { id } = await storeDocument(t, api);
  const first = await exportDocument(api, { documentId: id });
  const second = await exportDocument(api, { documentId: id });
  const gone = { status: 410, code: 'export_expired' };
  assertRefused(t, await api.send('GET', first.downloadPath), gone);
  t.true((await download(vault, api, second.downloadPath)).length > 0);
  t.is((await removeDocument(api, id)).status, 204);
  assertRefused(t, await api.send('GET', second.downloadPath), gone);
});

test('a job that writes no archive, or has not yet, has none', async (t) => {
  const api = await createApi(t.context.vault, { scopes });
  const { id } = await storeDocument(t, api);
  const jobId = await submitExport(api, { documentId: id });
  await removeDocument(api, id);
  const job = await untilOver(api, jobId);
  if (job['status'] === 'FAILED') t.like(job, { error: 'not_found', retryable: false });
  const { status } = await api.send('GET', `/v1/jobs/${jobId}/export`);
  t.true([404, 410].includes(status), String(status));
});
