import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import { createApi } from '../../support/documents/uploads.ts';
import {
  bytesOf,
  minPart,
  openSession,
  putPart,
  complete,
  sha3,
  upload,
} from '../../support/documents/files.ts';
import { objectDirectory } from '../../support/documents/stored-files.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { createDocument, storeDocument } from '../../support/documents/documents.ts';
import { codeOf, download } from './downloads.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault }>;

test.before(async (t) => {
  t.context = { vault: await startVault() };
});
test.after.always((t) => t.context.vault.stop());

test('a download returns the stored file byte for byte, with its hash as ETag', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(300_000);
  const { id, fileHash } = await storeDocument(t, api, bytes);
  const { status, headers, bytes: received } = await download(vault, api, `${id}/download`);
  t.is(status, 200);
  t.true(received.equals(bytes));
  const expected = {
    etag: `"${fileHash}"`,
    'accept-ranges': 'bytes',
    'content-length': '300000',
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="evidence.bin"`,
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
    'content-range': null,
  };
  for (const [name, value] of Object.entries(expected)) t.is(headers.get(name), value, name);
  const alias = await fetch(`${vault.baseUrl}/api/v1/documents/${id}/download`, {
    headers: { authorization: `Bearer ${api.token}` },
  });
  t.is(sha3(Buffer.from(await alias.arrayBuffer())), fileHash);
});

const size = 1000;

/** [Range header, the bytes of the 206 response, or the status of another one] */
const ranges: [string, [first: number, last: number] | 200 | 416][] = [
  ['bytes=0-0', [0, 0]],
  ['bytes=0-999', [0, 999]],
  ['bytes=10-19', [10, 19]],
  ['bytes=990-', [990, 999]],
  ['bytes=0-', [0, 999]],
  ['bytes=990-5000', [990, 999]],
  ['bytes=990-99999999999999999999', [990, 999]],
  ['bytes=-1', [999, 999]],
  ['bytes=-1000', [0, 999]],
  ['bytes=-5000', [0, 999]],
  ['BYTES=5-6', [5, 6]],
  ['bytes= 5-6 ', [5, 6]],
  ['bytes=1000-', 416],
  ['bytes=1000-2000', 416],
  ['bytes=99999999999999999999-', 416],
  ['bytes=-0', 416],
  ['bytes=0-0,5-6', 200],
  ['bytes=0-0, -1', 200],
  ['bytes=20-10', 200],
  ['bytes=-', 200],
  ['bytes=', 200],
  ['bytes', 200],
  ['bytes=a-b', 200],
  ['bytes=0x1-2', 200],
  ['bytes=--1', 200],
  ['bytes=1.5-2', 200],
  ['bytes=+1-2', 200],
  ['octets=0-1', 200],
  ['0-1', 200],
];

test('one range is served alone; several or invalid ranges get the whole file', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(size);
  const { id, fileHash } = await storeDocument(t, api, bytes);
  for (const [range, expected] of ranges) {
    const answer = await download(vault, api, `${id}/download`, { headers: { range } });
    const contentRange = answer.headers.get('content-range');
    if (expected === 416) {
      t.is(answer.status, 416, range);
      t.is(codeOf(answer), 'range_not_satisfiable', range);
      t.is(contentRange, `bytes */${size}`, range);
      t.is(answer.headers.get('content-type'), 'application/json; charset=utf-8', range);
      t.is(answer.headers.get('etag'), null, range);
    } else {
      const [first, last] = expected === 200 ? [0, size - 1] : expected;
      t.is(answer.status, expected === 200 ? 200 : 206, range);
      t.true(answer.bytes.equals(bytes.subarray(first, last + 1)), range);
      t.is(answer.headers.get('content-length'), String(last - first + 1), range);
      t.is(contentRange, expected === 200 ? null : `bytes ${first}-${last}/${size}`, range);
      t.is(answer.headers.get('etag'), `"${fileHash}"`, range);
    }
  }
});

test('a range is served from any position in a file of several parts', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(2 * minPart + 1000);
  const sessionId = await openSession(t, api, bytes.length, 3);
  for (const part of [1, 2, 3]) {
    await putPart(api, sessionId, part, bytes.subarray((part - 1) * minPart, part * minPart));
  }
  const { body } = await complete(api, sessionId);
  const document = await createDocument(api, String(body.fileKey));
  const pieces: [number, number][] = [
    [minPart - 10, minPart + 9],
    [minPart, minPart],
    [minPart - 1, 2 * minPart],
    [2 * minPart, bytes.length - 1],
    [0, bytes.length - 1],
  ];
  for (const [first, last] of pieces) {
    const headers = { range: `bytes=${first}-${last}` };
    const answer = await download(vault, api, `${String(document.body.id)}/download`, { headers });
    t.is(answer.status, 206);
    t.true(answer.bytes.equals(bytes.subarray(first, last + 1)), headers.range);
  }
});

test('conditional requests follow the order of RFC 9110', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(size);
  const { id, fileHash } = await storeDocument(t, api, bytes);
  const etag = `"${fileHash}"`;
  const range = 'bytes=5-9';
  const cases: [Record<string, string>, number][] = [
    [{ 'if-none-match': etag }, 304],
    [{ 'if-none-match': `W/${etag}` }, 304],
    [{ 'if-none-match': `"other", ${etag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': etag, range }, 304],
    [{ 'if-none-match': '"other"' }, 200],
    [{ 'if-none-match': `"${fileHash.toUpperCase()}"` }, 200],
    [{ 'if-none-match': fileHash }, 400],
    [{ 'if-match': etag }, 200],
    [{ 'if-match': '*' }, 200],
    [{ 'if-match': `"other", ${etag}`, range }, 206],
    [{ 'if-match': `W/${etag}` }, 412],
    [{ 'if-match': '"other"' }, 412],
    [{ 'if-match': '"other"', 'if-none-match': etag }, 412],
    [{ 'if-match': etag, 'if-none-match': etag }, 304],
    [{ 'if-range': etag, range }, 206],
    [{ 'if-range': `W/${etag}`, range }, 200],
    [{ 'if-range': '"other"', range }, 200],
    [{ 'if-range': '"other"', range: 'bytes=5000-' }, 200],
    [{ 'if-range': 'Sat, 29 Oct 1994 19:43:31 GMT', range }, 200],
    [{ 'if-modified-since': new Date().toUTCString() }, 200],
  ];
  for (const [headers, status] of cases) {
    const label = JSON.stringify(headers);
    const answer = await download(vault, api, `${id}/download`, { headers });
    t.is(answer.status, status, label);
    if (status === 304) {
      t.is(answer.bytes.length, 0, label);
      t.is(answer.headers.get('etag'), etag, label);
      t.is(answer.headers.get('cache-control'), 'private, no-cache', label);
      t.is(answer.headers.get('content-length'), null, label);
    }
    if (status === 412) t.is(codeOf(answer), 'precondition_failed', label);
    if (status === 206) t.true(answer.bytes.equals(bytes.subarray(5, 10)), label);
  }
});

test('HEAD returns the headers of a whole GET without reading the store', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { id, fileKey, fileHash } = await storeDocument(t, api, bytesOf(size));
  const names = [
    'etag',
    'accept-ranges',
    'content-length',
    'content-type',
    'content-disposition',
    'cache-control',
    'content-range',
  ];
  const got = await download(vault, api, `${id}/download`);
  await rm(objectDirectory(vault, fileKey), { recursive: true });
  for (const headers of [{ range: '' }, { range: 'bytes=0-1' }, { range: 'bytes=5000-' }]) {
    const head = await download(vault, api, `${id}/download`, { method: 'HEAD', headers });
    t.is(head.status, 200);
    t.is(head.bytes.length, 0);
    for (const name of names) t.is(head.headers.get(name), got.headers.get(name), name);
  }
  const conditional = { method: 'HEAD', headers: { 'if-none-match': `"${fileHash}"` } };
  t.is((await download(vault, api, `${id}/download`, conditional)).status, 304);
  t.is((await download(vault, api, `${randomUUID()}/download`, { method: 'HEAD' })).status, 404);
});

test('every version can be downloaded, and the newest without a version number', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const [first, second] = [bytesOf(100), bytesOf(200)];
  const { id } = await storeDocument(t, api, first);
  const { fileKey } = await upload(t, api, second);
  const json = { storagePath: fileKey };
  t.is((await api.send('POST', `/v1/documents/${id}/versions`, { json })).status, 201);
  for (const [query, bytes] of [
    ['', second],
    ['?version=2', second],
    ['?version=1', first],
  ] as const) {
    const answer = await download(vault, api, `${id}/download${query}`);
    t.true(answer.bytes.equals(bytes), query);
    t.is(answer.headers.get('etag'), `"${sha3(bytes)}"`, query);
  }
  const refusals: [string, number][] = [
    ['3', 404],
    ['999999999', 404],
    ['0', 400],
    ['-1', 400],
    ['01', 400],
    ['1.0', 400],
    ['', 400],
    ['9999999999', 400],
    ['1&version=2', 400],
  ];
  for (const [version, status] of refusals) {
    const answer = await download(vault, api, `${id}/download?version=${version}`);
    t.is(answer.status, status, version);
  }
});

/** [file name of the upload, Content-Disposition header] */
const names: [string, string][] = [
  ['evidence.pdf', 'attachment; filename="evidence.pdf"'],
  ['a b;c.pdf', 'attachment; filename="a b;c.pdf"'],
  [
    'a".exe; filename="b.pdf',
    `attachment; filename="a_.exe; filename=_b.pdf"; ` +
      `filename*=UTF-8''a%22.exe%3B%20filename%3D%22b.pdf`,
  ],
  [
    'Prüfung 証拠 🔒.pdf',
    `attachment; filename="Pr_fung __ _.pdf"; ` +
      `filename*=UTF-8''Pr%C3%BCfung%20%E8%A8%BC%E6%8B%A0%20%F0%9F%94%92.pdf`,
  ],
  ['%41%2f.pdf', `attachment; filename="_41_2f.pdf"; filename*=UTF-8''%2541%252f.pdf`],
  ["it's", `attachment; filename="it's"`],
  ['.html', 'attachment; filename=".html"'],
];

test('a file is saved under its upload’s name, and no name escapes the header', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  for (const [fileName, expected] of names) {
    const bytes = bytesOf(10);
    const json = { fileName, fileSize: 10, mimeType: 'application/octet-stream', totalParts: 1 };
    const sessionId = String((await api.send('POST', '/v1/uploads', { json })).body.sessionId);
    await putPart(api, sessionId, 1, bytes);
    const { fileKey } = (await complete(api, sessionId)).body;
    const { body } = await createDocument(api, String(fileKey));
    const { headers } = await download(vault, api, `${String(body.id)}/download`);
    t.is(headers.get('content-disposition'), expected);
    t.is(headers.get('content-type'), 'application/octet-stream');
  }
});
