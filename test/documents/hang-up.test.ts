import anyTest, { type TestFn } from 'ava';
import { untilWaiting } from '../support/accounts/paused-statement.ts';
import { until } from '../../app/dev/processes/until.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { bytesOf, sha3, upload } from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { documentAt, listVersions, storeDocument } from '../support/documents/documents.ts';
import { untilHashed } from '../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

/** Makes the hash of an upload unknown, and delays its computation until `end` is called. */
async function pauseHash(
  { vault, sql }: { readonly vault: TestVault; readonly sql: Sql },
  sessionId: string,
) {
  await untilHashed(sql, sessionId);
  await sql('update upload_sessions set file_hash = null where id = $1', [sessionId]);
  const holder = await connectAs(vault.databases.admin);
  await holder.query('begin');
  await holder.query('select 1 from upload_sessions where id = $1 for update', [sessionId]);
  return {
    async end(): Promise<void> {
      await holder.query('rollback');
      await holder.end();
    },
  };
}

/** Sends JSON as a client that may hang up. */
async function post(
  { vault, api }: { readonly vault: TestVault; readonly api: Api },
  path: string,
  json: object,
) {
  const hangUp = new AbortController();
  const answer = fetch(vault.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(json),
    signal: hangUp.signal,
  });
  return { answer, hangUp: () => hangUp.abort() };
}

test.serial('creating a document responds once its file’s hash is known', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(100);
  const { fileKey, sessionId } = await upload(t, api, bytes);
  const pause = await pauseHash(t.context, sessionId);
  const { answer } = await post({ vault, api }, '/v1/documents', documentAt(fileKey));
  await untilWaiting(vault, 1);
  await pause.end();
  const { status } = await answer;
  t.is(status, 201);
  const [item] = (await api.send('GET', '/v1/documents')).body as unknown as {
    readonly id: string;
  }[];
  t.is((await api.send('GET', `/v1/documents/${item?.id}/hash`)).body.hash, sha3(bytes));
});

for (const what of ['document', 'version'] as const) {
  test.serial(`hanging up before the hash is known makes no ${what}; a retry does`, async (t) => {
    const { vault, sql } = t.context;
    const api = await createApi(vault);
    const { id } = await storeDocument(t, api);
    const { fileKey, sessionId } = await upload(t, api, bytesOf(100));
    const [path, json]: [string, object] =
      what === 'document'
        ? ['/v1/documents', documentAt(fileKey)]
        : [`/v1/documents/${id}/versions`, { storagePath: fileKey }];
    const pause = await pauseHash(t.context, sessionId);
    const first = await post({ vault, api }, path, json);
    await untilWaiting(vault, 1);
    first.hangUp();
    await t.throwsAsync(first.answer, { name: 'AbortError' });
    const isGone = (line: string) =>
      line.includes(`"path":"${path}"`) && line.includes('"aborted":true');
    await until(() => vault.logLines.some(isGone), {
      what: 'the hang-up to be logged',
      timeoutMs: 60_000,
    });
    await pause.end();
    await untilHashed(sql, sessionId);

    const again = await api.send('POST', path, { json });
    t.is(again.status, 201, JSON.stringify(again.body));
    const documents = (await api.send('GET', '/v1/documents')).body as unknown as object[];
    t.is(documents.length, what === 'document' ? 2 : 1);
    t.is((await listVersions(api, id)).length, what === 'document' ? 1 : 2);
    t.false(vault.logLines.some((line) => line.includes('request failed')));
  });
}
