import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { abort, bytesOf, MiB, progress, putPart, sha3 } from '../../support/documents/files.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { sessionDirectory } from '../../support/documents/stored-files.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import {
  documentPart,
  filePart,
  findRemains,
  formEnd,
  formOf,
  sendForm,
  startForm,
  type SlowForm,
} from './forms.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql; readonly api: Api }>;

test.beforeEach(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault), api: await createApi(vault) };
});
test.afterEach.always((t) => t.context.vault.stop());

const nothing = { documents: 0, uploads: 0, objects: 0 };
const file = bytesOf(20 * MiB);
const whole = formOf(documentPart(), filePart(file));

async function findSession(sql: Sql, { caller }: Api): Promise<string | undefined> {
  const [session] = await sql('select id from upload_sessions where user_id = $1', [caller.userId]);
  return session === undefined ? undefined : String(session.id);
}

/**
 * Sends a form up to its end and waits until its first part is stored. Resolves with the upload
 * session's id.
 */
async function begin(vault: TestVault, sql: Sql, api: Api, { request }: SlowForm): Promise<string> {
  request.write(whole.subarray(0, whole.length - formEnd.length));
  return until(
    async () => {
      const id = await findSession(sql, api);
      const directory =
        id === undefined ? undefined : await sessionDirectory(vault, id).catch(() => undefined);
      const names = directory === undefined ? [] : await readdir(directory);
      return names.some((name) => name.startsWith('1-')) && id;
    },
    { what: 'the first part', timeoutMs: 60_000 },
  );
}

/**
 * Replaces the store's directory of open uploads by a file. Resolves with a function that restores
 * it.
 */
async function takeStoreAway(vault: TestVault): Promise<() => Promise<void>> {
  const uploads = path.join(vault.storeDirectory, 'uploads');
  await rename(uploads, `${uploads}-aside`);
  await writeFile(uploads, '');
  return async () => {
    await rm(uploads);
    await rename(`${uploads}-aside`, uploads);
  };
}

test('a client that hangs up during a form leaves no stored parts', async (t) => {
  const { vault, sql, api } = t.context;
  for (const headers of [{}, { 'content-length': whole.length }]) {
    const form = startForm(vault.baseUrl, api, headers);
    await begin(vault, sql, api, form);
    form.request.destroy();
    await until(async () => (await findRemains(vault, sql, api)).uploads === 0, {
      what: 'the parts to be deleted',
      timeoutMs: 60_000,
    });
    t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions: { ABORTED: 1 } });
    await sql('delete from upload_sessions');
  }
  t.is(vault.logLines.filter((line) => line.includes('request failed')).length, 0);
});

test('a store that fails while a form is sent gives 503, and nothing remains', async (t) => {
  const { vault, sql, api } = t.context;
  const form = startForm(vault.baseUrl, api, { 'content-length': whole.length + 30 * MiB });
  await begin(vault, sql, api, form);
  const mend = await takeStoreAway(vault);
  form.request.write(bytesOf(10 * MiB));
  const { status, body } = await form.answer;
  t.is(status, 503);
  t.is(body.code, 'storage_unavailable');
  form.request.destroy();
  await mend();
  await until(async () => (await findRemains(vault, sql, api)).uploads === 0, {
    what: 'the parts to be deleted',
    timeoutMs: 60_000,
  });
  t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions: { ABORTED: 1 } });
  t.is((await sendForm(api, whole)).status, 201);
});

test('an unavailable store gives 503 before an upload session is opened', async (t) => {
  const { vault, sql, api } = t.context;
  const mend = await takeStoreAway(vault);
  const { status, body } = await sendForm(api, formOf(documentPart(), filePart('the file')));
  t.is(status, 503);
  t.is(body.code, 'storage_unavailable');
  await mend();
  t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions: {} });
});

test('a killed process leaves an upload session that can be aborted as usual', async (t) => {
  const { vault, sql, api } = t.context;
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const sessionId = await begin(vault, sql, api, startForm(replica.baseUrl, api));
  replica.process.kill('SIGKILL');
  await replica.process.exited;
  t.is((await progress(api, sessionId)).body.status, 'IN_PROGRESS');
  t.is((await abort(api, sessionId)).status, 200);
  await until(async () => (await findRemains(vault, sql, api)).uploads === 0, {
    what: 'the parts to be deleted',
    timeoutMs: 60_000,
  });
  t.is((await sendForm(api, whole)).status, 201);
});

test('aborting the upload session through another request refuses the form', async (t) => {
  const { vault, sql, api } = t.context;
  const form = startForm(vault.baseUrl, api);
  t.is((await abort(api, await begin(vault, sql, api, form))).status, 200);
  form.request.end(formEnd);
  const { status, body } = await form.answer;
  t.is(status, 409);
  t.is(body.code, 'session_closed');
  await until(async () => (await findRemains(vault, sql, api)).uploads === 0, {
    what: 'the parts to be deleted',
    timeoutMs: 60_000,
  });
  t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions: { ABORTED: 1 } });
});

test('a part sent by another request does not become part of the form’s file', async (t) => {
  const { vault, sql, api } = t.context;
  const form = startForm(vault.baseUrl, api);
  const id = await begin(vault, sql, api, form);
  const part = await putPart(api, id, 2, bytesOf(5 * MiB));
  t.is(part.status, 200, JSON.stringify(part.body));
  form.request.end(formEnd);
  const { status, body } = await form.answer;
  t.is(status, 201, JSON.stringify(body));
  t.is(body['fileHash'], sha3(file));
});
