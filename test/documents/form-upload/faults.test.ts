import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { abort, bytesOf, MiB, progress, putPart, sha3 } from '../../support/documents/files.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { sessionDirectory, storeDirectory } from '../../support/documents/stored-files.ts';
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

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql; api: Api }>;

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

/** A form of which all but the end is sent and its first part stored. Answers the session. */
async function begin(vault: TestVault, sql: Sql, api: Api, { request }: SlowForm): Promise<string> {
  request.write(whole.subarray(0, whole.length - formEnd.length));
  return until(
    async () => {
      const id = await findSession(sql, api);
      const directory = id && (await sessionDirectory(vault, id).catch(() => undefined));
      const names = directory ? await readdir(directory) : [];
      return names.some((name) => name.startsWith('1-')) && id;
    },
    { what: 'the first part', timeoutMs: 20_000 },
  );
}

/** Puts a file where the store has its open uploads; answers how to mend it. */
async function takeStoreAway(vault: TestVault): Promise<() => Promise<void>> {
  const uploads = path.join(storeDirectory(vault), 'uploads');
  await rename(uploads, `${uploads}-aside`);
  await writeFile(uploads, '');
  return async () => {
    await rm(uploads);
    await rename(`${uploads}-aside`, uploads);
  };
}

test('a client that hangs up in the middle leaves nothing', async (t) => {
  const { vault, sql, api } = t.context;
  for (const headers of [{}, { 'content-length': whole.length }]) {
    const form = startForm(vault.baseUrl, api, headers);
    await begin(vault, sql, api, form);
    form.request.destroy();
    await until(async () => (await findRemains(vault, sql, api)).uploads === 0, {
      what: 'the parts to go',
      timeoutMs: 10_000,
    });
    t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions: { ABORTED: 1 } });
    await sql('delete from upload_sessions');
  }
  t.is(vault.logLines.filter((line) => line.includes('request failed')).length, 0);
});

test('a store that fails in the middle answers 503 while the client still sends, and nothing remains', async (t) => {
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
    what: 'the parts to go',
    timeoutMs: 60_000,
  });
  t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions: { ABORTED: 1 } });
  t.is((await sendForm(api, whole)).status, 201);
});

test('a store that is away answers 503, and nothing remains', async (t) => {
  const { vault, sql, api } = t.context;
  const mend = await takeStoreAway(vault);
  const { status, body } = await sendForm(api, formOf(documentPart(), filePart('the file')));
  t.is(status, 503);
  t.is(body.code, 'storage_unavailable');
  await mend();
  t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions: {} });
});

test('a process that is killed leaves a session like any other, which ends as they do', async (t) => {
  const { vault, sql, api } = t.context;
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const sessionId = await begin(vault, sql, api, startForm(replica.baseUrl, api));
  replica.process.kill('SIGKILL');
  await replica.process.exited;
  t.is((await progress(api, sessionId)).body.status, 'IN_PROGRESS');
  t.is((await abort(api, sessionId)).status, 200);
  await until(async () => (await findRemains(vault, sql, api)).uploads === 0, {
    what: 'the parts to go',
    timeoutMs: 10_000,
  });
  t.is((await sendForm(api, whole)).status, 201);
});

test('an upload that is ended from elsewhere refuses the form', async (t) => {
  const { vault, sql, api } = t.context;
  const form = startForm(vault.baseUrl, api);
  t.is((await abort(api, await begin(vault, sql, api, form))).status, 200);
  form.request.end(formEnd);
  const { status, body } = await form.answer;
  t.is(status, 409);
  t.is(body.code, 'session_closed');
  await until(async () => (await findRemains(vault, sql, api)).uploads === 0, {
    what: 'the parts to go',
    timeoutMs: 10_000,
  });
  t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions: { ABORTED: 1 } });
});

test('a part that comes from elsewhere is not one of the form', async (t) => {
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
