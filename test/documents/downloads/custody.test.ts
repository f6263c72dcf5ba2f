import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { maxWaiting } from '../../../app/audit/custody/download-rows.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { removeDocument, storeDocument, storeVersion } from '../../support/documents/documents.ts';
import { bytesOf, MiB } from '../../support/documents/files.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { codeOf, download } from './downloads.ts';
import { appending } from '../../support/audit/log-rows.ts';

interface Context {
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly owner: Api;
}

const test = anyTest as TestFn<Context>;

test.beforeEach(async (t) => {
  const vault = await startReadyVault({ AUDIT_BACKLOG_LIMIT: '100' });
  t.context = { vault, sql: createSql(vault), owner: await createApi(vault) };
});
test.afterEach.always((t) => t.context.vault.stop());

interface Entry {
  readonly data: Readonly<Record<string, unknown>>;
  readonly actor: unknown;
  readonly outcome: string;
}

/** Returns the entries of a document's downloads, as its owner sees them, oldest first. */
async function listEntries(owner: Api, id: string): Promise<Entry[]> {
  const query = `resourceId=${id}&action=document.downloaded`;
  const { body } = await owner.send('GET', `/v1/audit/entries?${query}`);
  return (body['entries'] as Entry[]).toReversed();
}

/** Waits for the entries of `count` downloads of a document. */
function entriesOf(owner: Api, id: string, count: number): Promise<Entry[]> {
  return until(
    async () => {
      const entries = await listEntries(owner, id);
      return entries.length >= count && entries;
    },
    { what: `${count} entries of downloads`, timeoutMs: 60_000 },
  );
}

/** Shares a document for an hour. Resolves with the share's id. */
async function share(sql: Sql, owner: Api, documentId: string, reader: Api): Promise<string> {
  const id = randomUUID();
  await sql(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref,
       recipient_user_id, wrapped_key, permissions, expires_at)
     values ($1, $2, 'default', $3, $4, $5, 'AAAA', '{read}', now() + interval '1 hour')`,
    [id, owner.caller.userId, documentId, randomUUID(), reader.caller.userId],
  );
  return id;
}

/** Lets the ranges that were asked for so far have been asked for a minute ago. */
const passMinute = (sql: Sql) =>
  sql(`update downloads set began_at = began_at - interval '1 minute',
    ended_at = ended_at - interval '1 minute'`);

test('the owner sees who downloaded a file, by which share', async (t) => {
  const { vault, sql, owner } = t.context;
  const reader = await createApi(vault);
  const { id, fileHash } = await storeDocument(t, owner, bytesOf(1_000));
  const shareId = await share(sql, owner, id, reader);
  await download(vault, owner, `${id}/download`);
  await entriesOf(owner, id, 1);
  await download(vault, reader, `${id}/download`);
  const [first, second, ...more] = await entriesOf(owner, id, 2);
  const whole = { version: 1, fileHash, bytes: 1_000, complete: true };
  t.deepEqual(first?.data, whole);
  t.deepEqual(first?.actor, { type: 'user', id: owner.caller.userId });
  t.deepEqual(second?.data, { ...whole, shareId });
  t.deepEqual(second?.actor, { type: 'user', id: reader.caller.userId });
  t.deepEqual([first?.outcome, more], ['success', []]);
});

test('HEAD, 304, 404, 412 and 416 are no downloads', async (t) => {
  const { vault, sql, owner } = t.context;
  const stranger = await createApi(vault);
  const { id, fileHash } = await storeDocument(t, owner);
  const ask = async (headers: Record<string, string>, method = 'GET') =>
    (await download(vault, owner, `${id}/download`, { method, headers })).status;
  t.is(await ask({}, 'HEAD'), 200);
  t.is(await ask({ 'if-none-match': `"${fileHash}"` }), 304);
  t.is(await ask({ 'if-match': '"other"' }), 412);
  t.is(await ask({ range: 'bytes=100-' }), 416);
  t.is((await download(vault, stranger, `${id}/download`)).status, 404);
  t.deepEqual(await sql('select id from downloads'), []);
  t.is(await ask({}), 200);
  t.is((await entriesOf(owner, id, 1)).length, 1);
});

test('the ranges of one download are summed up once its reader has paused', async (t) => {
  const { vault, sql, owner } = t.context;
  const { id, fileHash } = await storeDocument(t, owner, bytesOf(1_000));
  await storeVersion(t, owner, id);
  for (const range of ['bytes=0-99', 'bytes=100-299', 'bytes=0-99']) {
    const target = `${id}/download?version=1`;
    const { status } = await download(vault, owner, target, { headers: { range } });
    t.is(status, 206);
  }
  await download(vault, owner, `${id}/download?version=2`);
  t.is((await entriesOf(owner, id, 1))[0]?.data.version, 2);
  await passMinute(sql);
  const entries = await entriesOf(owner, id, 2);
  t.deepEqual(entries[1]?.data, { version: 1, fileHash, bytes: 400, complete: true });
});

test('a download that was cut off is recorded with the bytes that were handed over', async (t) => {
  const { vault, owner } = t.context;
  const size = 32 * MiB;
  const { id } = await storeDocument(t, owner, bytesOf(size));
  const hangUp = new AbortController();
  const response = await fetch(`${vault.baseUrl}/v1/documents/${id}/download`, {
    headers: { authorization: `Bearer ${owner.token}` },
    signal: hangUp.signal,
  });
  let seen = 0;
  for await (const chunk of response.body ?? []) {
    seen += chunk.length;
    if (seen > MiB) break;
  }
  hangUp.abort();
  const [entry] = await entriesOf(owner, id, 1);
  t.is(entry?.data.complete, false);
  t.true(Number(entry?.data.bytes) >= seen, `${String(entry?.data.bytes)} of ${seen}`);
  t.true(Number(entry?.data.bytes) < size);
});

test('the entry of a download whose document is deleted meanwhile follows', async (t) => {
  const { vault, sql, owner } = t.context;
  const { id } = await storeDocument(t, owner);
  await download(vault, owner, `${id}/download`, { headers: { range: 'bytes=0-9' } });
  t.is((await removeDocument(owner, id)).status, 204);
  await passMinute(sql);
  t.is((await entriesOf(owner, id, 1))[0]?.data.bytes, 10);
});

test('another process records a download whose process died, without its bytes', async (t) => {
  const { sql, owner } = t.context;
  const { id, fileHash } = await storeDocument(t, owner);
  await sql(
    `insert into downloads (id, user_id, tenant_id, document_id, version, file_hash, reader_id,
       request_id, is_part, held_until)
     values ($1, $2, 'default', $3, 1, $4, $2, $5, false, now())`,
    [randomUUID(), owner.caller.userId, id, fileHash, randomUUID()],
  );
  const [entry] = await entriesOf(owner, id, 1);
  t.deepEqual(entry?.data, { version: 1, fileHash, bytes: null, complete: false });
});

test('downloads go on while the audit backlog is full, and their entries follow', async (t) => {
  const { vault, sql, owner } = t.context;
  const { id } = await storeDocument(t, owner);
  const { backlogLimit } = vault.config.audit;
  await sql(
    `do $$ begin
       ${appending(`
       select uuidv7(), gen_random_uuid(), 'default', 'upload', 'x', 1, 'upload.created', '{}'
       from generate_series(0, ${backlogLimit})`)};
       update audit_queue set claimed_until = now() + interval '1 hour'
       where entry_id in (select id from audit_entries where resource_id = 'x');
     end $$`,
  );
  await until(() => isFull(vault), { what: 'the backlog to be full', timeoutMs: 30_000 });
  t.is((await download(vault, owner, `${id}/download`)).status, 200);
  await until(async () => (await sql('select id from downloads where ended_at is not null'))[0], {
    what: 'the download to end',
    timeoutMs: 30_000,
  });
  t.deepEqual(await listEntries(owner, id), []);
  await sql('delete from audit_queue where claim_id is null and claimed_until is not null');
  t.is((await entriesOf(owner, id, 1))[0]?.data.complete, true);
  t.deepEqual(await sql('select id from downloads'), []);
});

test('a reader begins no further download while 10,000 wait to be entries', async (t) => {
  const { vault, sql, owner } = t.context;
  const { id } = await storeDocument(t, owner);
  const reader = await createApi(vault);
  await share(sql, owner, id, reader);
  await sql(
    `insert into downloads (id, user_id, tenant_id, document_id, version, file_hash, reader_id,
       request_id, is_part, held_until)
     select gen_random_uuid(), $1, 'default', $2, 1, '', $3, gen_random_uuid(), false,
       now() + interval '1 hour'
     from generate_series(1, ${maxWaiting})`,
    [owner.caller.userId, id, reader.caller.userId],
  );
  const refused = await download(vault, reader, `${id}/download`);
  t.deepEqual([refused.status, codeOf(refused)], [429, 'rate_limited']);
  t.true(Number(refused.headers.get('retry-after')) > 0);
  t.is((await download(vault, reader, `${id}/download`, { method: 'HEAD' })).status, 200);
  t.is((await download(vault, owner, `${id}/download`)).status, 200);
  await sql(
    'delete from downloads where id = (select id from downloads where reader_id = $1 limit 1)',
    [reader.caller.userId],
  );
  t.is((await download(vault, reader, `${id}/download`)).status, 200);
});

test('the app login begins only its caller’s downloads of what the caller may read', async (t) => {
  const { vault, sql, owner } = t.context;
  const [reader, stranger] = [await createApi(vault), await createApi(vault)];
  const { id, fileHash } = await storeDocument(t, owner);
  const shareId = await share(sql, owner, id, reader);
  const app = await connectAs(vault.databases.app);
  t.teardown(() => app.end());
  const ownerId = owner.caller.userId;
  const own = { user_id: ownerId, version: 1, file_hash: fileHash, reader_id: ownerId };
  async function begins({ caller }: Api, change: object): Promise<boolean> {
    const row = {
      ...own,
      id: randomUUID(),
      tenant_id: 'default',
      document_id: id,
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
  }
  const asReader = { reader_id: reader.caller.userId, share_id: shareId };
  t.true(await begins(owner, {}));
  t.true(await begins(reader, asReader));
  t.false(await begins(owner, asReader));
  t.false(await begins(reader, { ...asReader, share_id: null }));
  t.false(await begins(reader, { ...asReader, share_id: randomUUID() }));
  t.false(await begins(stranger, { reader_id: stranger.caller.userId }));
  for (const change of [{ file_hash: 'ab' }, { version: 2 }, { document_id: randomUUID() }]) {
    t.false(await begins(owner, change));
  }
  const ended = { held_until: null, ended_at: new Date(), sent: 1, is_complete: true };
  t.false(await begins(owner, ended));
});

function isFull({ services }: TestVault): boolean {
  try {
    services.audit.assertWritable();
    return false;
  } catch {
    return true;
  }
}
