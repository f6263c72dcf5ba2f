import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { openSocket, readAnswer } from '../../support/http/raw-http.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { bytesOf, MiB } from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { badForms } from './bad-forms.ts';
import {
  documentPart,
  filePart,
  findRemains,
  formOf,
  formEnd,
  formType,
  sendForm,
  startForm,
  type FormPart,
} from './forms.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.beforeEach(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.afterEach.always((t) => t.context.vault.stop());

const document = documentPart();
const file = filePart('the file');
const otherField: FormPart = ['Content-Disposition: form-data; name="other"', 'x'];
const nothing = { sessions: {}, documents: 0, uploads: 0, objects: 0 };

test('every malformed form is refused, and nothing of it remains', async (t) => {
  const { vault, sql } = t.context;
  for (const bad of badForms) {
    const { what, form, headers, status = 400, code = 'invalid_form', path, begun } = bad;
    const api = await createApi(vault);
    const answer = await sendForm(api, form, headers);
    t.is(answer.status, status, what);
    t.is(answer.body.code, code, what);
    const details = answer.body.details as
      | { readonly path: string; readonly message: string }[]
      | undefined;
    t.is(details?.[0]?.path, path, what);
    const isClean = async () => (await findRemains(vault, sql, api)).uploads === 0;
    await until(isClean, { what: `${what}: the parts to be deleted`, timeoutMs: 60_000 });
    const sessions = begun === true ? { ABORTED: 1 } : {};
    t.deepEqual(await findRemains(vault, sql, api), { ...nothing, sessions }, what);
  }
  t.is(vault.logLines.filter((line) => line.includes('request failed')).length, 0);
});

test('a form with a Content-Length over the largest file is refused unread', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const form = startForm(vault.baseUrl, api, { 'content-length': 5 * 2 ** 30 + 2 * MiB });
  const { status, body } = await form.answer;
  form.request.destroy();
  t.is(status, 400);
  t.is(body.code, 'file_too_large');
  t.deepEqual(await findRemains(vault, sql, api), nothing);
});

test('a second form with the same bytes is refused, and its stored copy is deleted', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const form = formOf(document, file);
  t.is((await sendForm(api, form)).status, 201);
  const { status, body } = await sendForm(api, form);
  t.is(status, 409);
  t.is(body.code, 'duplicate_hash');
  const isClean = async () => (await findRemains(vault, sql, api)).objects === 1;
  await until(isClean, { what: 'the second copy to be deleted', timeoutMs: 60_000 });
  t.deepEqual(await findRemains(vault, sql, api), {
    sessions: { COMPLETED: 1 },
    documents: 1,
    uploads: 0,
    objects: 1,
  });
  const entries = await sql(
    `select action from audit_entries where user_id = $1 order by id offset 3`,
    [api.caller.userId],
  );
  t.deepEqual(
    entries.map(({ action }) => action),
    ['upload.created', 'upload.completed', 'upload.aborted'],
  );
});

test('the next request on the connection of a refused form is still answered', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const form = formOf(otherField, filePart(bytesOf(5 * MiB)));
  const head = (method: string, path: string, more: string) =>
    `${method} ${path} HTTP/1.1\r\nHost: vault.test\r\n` +
    `Authorization: Bearer ${api.token}\r\n${more}\r\n`;
  const socket = await openSocket(vault.baseUrl);
  t.teardown(() => socket.destroy());
  const length = `Content-Type: ${formType}\r\nContent-Length: ${form.length}\r\n`;
  socket.write(head('POST', '/v1/documents/upload', length));
  socket.write(form);
  t.is((await readAnswer(socket)).status, 400);
  socket.write(head('GET', '/v1/documents', ''));
  const { status, text } = await readAnswer(socket);
  t.is(status, 200);
  t.is(text, '[]');
});

test('a client that keeps sending after a refusal is disconnected', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const socket = await openSocket(vault.baseUrl);
  socket.on('error', () => undefined);
  socket.write(
    `POST /v1/documents/upload HTTP/1.1\r\nHost: vault.test\r\n` +
      `Authorization: Bearer ${api.token}\r\n` +
      `Content-Type: ${formType}\r\nContent-Length: ${2 ** 30}\r\n\r\n`,
  );
  socket.write(formOf(otherField));
  t.is((await readAnswer(socket)).status, 400);
  const chunk = Buffer.alloc(MiB);
  const sent = await new Promise<number>((resolve) => {
    let count = 0;
    const send = () => {
      count += 1;
      socket.write(chunk, (error) =>
        (error !== undefined && error !== null) || count === 1000 ? resolve(count) : send(),
      );
    };
    send();
  });
  t.true(sent >= 100 && sent < 300, `${sent} MiB`);
  await until(() => socket.destroyed, { what: 'the connection to end', timeoutMs: 60_000 });
});

test('the limits of an account’s plan apply to forms', async (t) => {
  const vault = await startVault({
    PLANS_STANDARD_STORAGE_BYTES: '1000000',
    PLANS_STANDARD_OPEN_UPLOADS: '1',
  });
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const api = await createApi(vault);
  const sending = (bytes: number) => sendForm(api, formOf(document, filePart(bytesOf(bytes))));
  t.is((await sending(600_000)).status, 201);
  const { status, headers, body } = await sending(600_000);
  t.is(status, 429);
  t.is(body.code, 'quota_exceeded');
  t.regex(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  t.is((await sending(300_000)).status, 201);

  const { request } = startForm(vault.baseUrl, api, { 'content-length': 1000 });
  const begin = formOf(document, file);
  request.write(begin.subarray(0, begin.length - formEnd.length));
  const isOpen = async () => (await findRemains(vault, sql, api)).sessions['IN_PROGRESS'] === 1;
  await until(isOpen, { what: 'an open session', timeoutMs: 60_000 });
  t.is((await sending(10)).body.code, 'quota_exceeded');
  request.destroy();
  await until(async () => (await sending(10)).status === 201, {
    what: 'room in the plan',
    timeoutMs: 60_000,
  });
});
