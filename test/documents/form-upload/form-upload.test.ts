import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { bytesOf, countStatuses, MiB, sha256, sha3 } from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { metadata } from '../../support/documents/documents.ts';
import { download } from '../downloads/downloads.ts';
import { documentPart, filePart, formOf, formEnd, partHead, sendForm, startForm } from './forms.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault({ UPLOADS_ALLOWED_MIME_TYPES: 'application/octet-stream,a/b' });
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

test('a form with a file becomes a document, as an upload in parts would', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const file = bytesOf(20 * MiB + 7);
  const keyword = sha3(bytesOf(1));
  const fields = { encryptedMetadata: metadata, keywordDeterministic: [keyword] };
  const { status, body } = await sendForm(api, formOf(documentPart(fields), filePart(file)));
  t.is(status, 201, JSON.stringify(body));
  t.like(body, {
    userId: api.caller.userId,
    encryptedMetadata: metadata,
    fileHash: sha3(file),
    status: 'PENDING',
  });
  const id = String(body.id);
  t.deepEqual((await api.send('GET', `/v1/documents/${id}`)).body, body);
  t.true((await download(vault, api, `${id}/download`)).bytes.equals(file));

  const [session, ...others] = await sql(
    `select s.id, s.status, s.file_name, s.file_size, s.mime_type, s.total_parts
     from upload_sessions s join document_versions v using (storage_key) where v.document_id = $1`,
    [id],
  );
  t.deepEqual(others, []);
  t.like(session, {
    status: 'COMPLETED',
    file_name: 'evidence.bin',
    file_size: String(file.length),
    mime_type: 'application/octet-stream',
    total_parts: 3,
  });
  const parts = await sql(
    'select part_number, size, sha256 from upload_parts where session_id = $1 order by 1',
    [session?.id],
  );
  t.deepEqual(
    parts,
    [0, 1, 2].map((index) => {
      const part = file.subarray(index * 8 * MiB, (index + 1) * 8 * MiB);
      return { part_number: index + 1, size: String(part.length), sha256: sha256(part) };
    }),
  );
  const entries = await sql(
    `select action, resource_id from audit_entries
     where user_id = $1 and action <> 'document.downloaded' order by id`,
    [api.caller.userId],
  );
  t.deepEqual(entries, [
    { action: 'upload.created', resource_id: session?.id },
    { action: 'upload.completed', resource_id: session?.id },
    { action: 'document.created', resource_id: id },
  ]);
  t.deepEqual(
    await sql('select keyword_hash from document_keywords where document_id = $1', [id]),
    [{ keyword_hash: keyword }],
  );
});

test('forms as browsers and curl send them are accepted', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const file = bytesOf(1000);
  const fields = JSON.stringify({ encryptedMetadata: metadata, keywordDeterministic: [] });
  const form = new FormData();
  // As a Blob, the field gets a type and a file name.
  form.append('document', new Blob([fields], { type: 'application/json' }));
  form.append('file', new Blob([file], { type: 'a/b' }), 'Prüfung "1".bin');
  const headers = { authorization: `Bearer ${api.token}` };
  const url = `${vault.baseUrl}/api/v1/documents/upload`;
  const answer = await fetch(url, { method: 'POST', headers, body: form });
  t.is(answer.status, 201);
  const { id } = (await answer.json()) as { readonly id: string };
  const downloaded = await download(vault, api, `${id}/download`);
  t.true(downloaded.bytes.equals(file));
  t.regex(downloaded.headers.get('content-disposition') ?? '', /filename\*=UTF-8''Pr%C3%BCfung/);

  const quoted = { 'content-type': 'Multipart/Form-Data; charset=utf-8; boundary="a b:c"' };
  const text = formOf(documentPart(), filePart(bytesOf(10))).toString('latin1');
  const bytes = Buffer.from(text.replaceAll('a-boundary-of-a-form', 'a b:c'), 'latin1');
  t.is((await sendForm(api, bytes, quoted)).status, 201);
});

test('a form in small chunks, without a length, with text around it is accepted', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const file = bytesOf(30_000);
  const form = startForm(vault.baseUrl, api, { 'transfer-encoding': 'chunked' });
  const whole = Buffer.concat([
    Buffer.from('This is a form.\r\n'),
    formOf(documentPart(), filePart(file)),
    Buffer.from('This was a form.'),
  ]);
  for (let start = 0; start < whole.length; start += 97) {
    form.request.write(whole.subarray(start, start + 97));
  }
  form.request.end();
  const { status, body } = await form.answer;
  t.is(status, 201, JSON.stringify(body));
  t.is(body.fileHash, sha3(file));
  const sessions = await sql('select file_size from upload_sessions where user_id = $1', [
    api.caller.userId,
  ]);
  t.deepEqual(sessions, [{ file_size: '30000' }]);
});

test('a file that resembles the boundary, or has one byte, is stored unchanged', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const files = [
    '\r\n--a-boundary-of-a-for',
    '\r\n--\r\n',
    '--',
    '\r\n',
    '\n',
    '\0',
    formEnd.slice(0, 12),
  ];
  for (const content of files) {
    const file = Buffer.from(`${content}${randomUUID()}`);
    const { status, body } = await sendForm(api, formOf(documentPart(), filePart(file)));
    t.is(status, 201, JSON.stringify(body));
    t.is(body.fileHash, sha3(file), JSON.stringify(content));
  }
  t.is(
    (await sendForm(api, formOf(documentPart(), filePart('x')))).body.fileHash,
    sha3(Buffer.from('x')),
  );
});

test('files of exactly one block, and of one byte more, are stored whole', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  for (const [size, parts] of [
    [8 * MiB, 1],
    [8 * MiB + 1, 2],
    [16 * MiB, 2],
  ] as const) {
    const file = bytesOf(size);
    const { body } = await sendForm(api, formOf(documentPart(), filePart(file)));
    t.is(body.fileHash, sha3(file));
    const [session] = await sql(
      `select total_parts from upload_sessions s join document_versions v using (storage_key)
       where v.document_id = $1`,
      [body.id],
    );
    t.is(session?.total_parts, parts);
  }
});

test('concurrent forms with equal files create one document', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const form = formOf(documentPart(), filePart(bytesOf(100_000)));
  const answers = await Promise.all(Array.from({ length: 5 }, () => sendForm(api, form)));
  t.deepEqual(countStatuses(answers), { 201: 1, 409: 4 });
  for (const { status, body } of answers) if (status === 409) t.is(body.code, 'duplicate_hash');
  t.is(((await api.send('GET', '/v1/documents')).body as unknown as object[]).length, 1);
});

test('the file is stored while it arrives', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const file = bytesOf(9 * MiB);
  const form = startForm(vault.baseUrl, api, { 'transfer-encoding': 'chunked' });
  form.request.write(
    Buffer.concat([formOf(documentPart()).subarray(0, -formEnd.length), Buffer.from('\r\n')]),
  );
  form.request.write(partHead(filePart('')));
  form.request.write(file);
  await until(
    async () => {
      const sessions = await sql('select status from upload_sessions where user_id = $1', [
        api.caller.userId,
      ]);
      return sessions.length === 1 && sessions[0]?.status === 'IN_PROGRESS';
    },
    { what: 'the upload session', timeoutMs: 60_000 },
  );
  form.request.end(formEnd);
  const { status, body } = await form.answer;
  t.is(status, 201, JSON.stringify(body));
  t.is(body.fileHash, sha3(file));
});
