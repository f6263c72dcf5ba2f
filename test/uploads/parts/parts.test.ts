import anyTest, { type TestFn } from 'ava';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { createApi } from '../../support/documents/uploads.ts';
import {
  bytesOf,
  complete,
  MiB,
  minPart,
  openSession,
  progress,
  putPart,
  sha256,
  sha3,
} from '../../support/documents/files.ts';
import { startPart } from './slow-part.ts';
import { storedFiles } from '../../support/documents/stored-files.ts';

const test = anyTest as TestFn<{ readonly vault: Vault }>;

test.before(async (t) => {
  t.context = { vault: sharedVault() };
});

const hexSha256 = (part: Uint8Array) => Buffer.from(sha256(part), 'base64').toString('hex');

test('concurrent parts in any order form the file in the order of their numbers', async (t) => {
  const api = await createApi(t.context.vault);
  const file = bytesOf(3 * minPart + 7);
  const sessionId = await openSession(t, api, file.length, 4);
  const parts = [0, 1, 2, 3].map((i) => file.subarray(i * minPart, (i + 1) * minPart));
  const answers = await Promise.all(
    [4, 2, 3, 1].map((number) => putPart(api, sessionId, number, parts[number - 1] ?? file)),
  );
  for (const { status, body } of answers) {
    t.is(status, 200);
    const part = parts[Number(body.partNumber) - 1] ?? file;
    t.like(body, { size: part.length, checksumSha256: hexSha256(part) });
    t.is(typeof body.etag, 'string');
  }
  const last = answers.find(({ body }) => body.uploadedParts === 4);
  t.is(last?.body.uploadedBytes, file.length);
  t.like((await progress(api, sessionId)).body, { uploadedParts: 4, uploadedBytes: file.length });
  const { status, body } = await complete(api, sessionId);
  t.is(status, 200);
  const document = await api.send('POST', '/v1/documents', {
    json: { encryptedMetadata: 'AAAA', keywordDeterministic: [], storagePath: body.fileKey },
  });
  t.is(document.body.fileHash, sha3(file));
});

test('a recorded part that is sent again is compared and not stored again', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const part = bytesOf(1000);
  const sessionId = await openSession(t, api, part.length);
  const first = await putPart(api, sessionId, 1, part);
  const before = await storedFiles(vault, sessionId);
  const again = await putPart(api, sessionId, 1, part);
  t.is(again.status, 200);
  t.deepEqual(again.body, first.body);
  const parallel = await Promise.all(
    Array.from({ length: 5 }, () => putPart(api, sessionId, 1, part)),
  );
  for (const { status } of parallel) t.is(status, 200);
  t.deepEqual(await storedFiles(vault, sessionId), before);
});

test('a recorded part sent with other content is a conflict, whatever its size', async (t) => {
  const api = await createApi(t.context.vault);
  const part = bytesOf(1000);
  const sessionId = await openSession(t, api, part.length);
  await putPart(api, sessionId, 1, part);
  for (const other of [bytesOf(1000), part.subarray(1), bytesOf(999)]) {
    const { status, body } = await putPart(api, sessionId, 1, other);
    t.is(status, 409);
    t.is(body.code, 'part_conflict');
  }
  t.like((await progress(api, sessionId)).body, { uploadedParts: 1, uploadedBytes: 1000 });
  t.is((await complete(api, sessionId)).status, 200);
});

test('a part with a wrong number or size is refused', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, minPart + 1, 2);
  const numbers: [string, string][] = [
    ['0', 'validation_failed'],
    ['-1', 'validation_failed'],
    ['01', 'validation_failed'],
    ['1.5', 'validation_failed'],
    ['1e0', 'validation_failed'],
    ['one', 'validation_failed'],
    ['3', 'invalid_part_number'],
    ['1000', 'invalid_part_number'],
    ['1001', 'validation_failed'],
    ['99999999999999999999', 'validation_failed'],
  ];
  for (const [number, code] of numbers) {
    const { status, body } = await putPart(api, sessionId, number, bytesOf(1));
    t.is(status, 400, number);
    t.is(body.code, code, number);
  }
  for (const [number, size] of [
    [1, minPart - 1],
    [1, 0],
    [2, 0],
  ] as const) {
    const { status, body } = await putPart(api, sessionId, number, bytesOf(size));
    t.is(status, 400);
    t.is(body.code, 'invalid_part_size', `${number} ${size}`);
  }
  t.like((await progress(api, sessionId)).body, { uploadedParts: 0 });
});

test('a part over the maximum is refused before its body is read', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 100 * MiB);
  for (const length of [String(100 * MiB + 1), '9999999999999999999']) {
    const part = startPart(vault, api, `/v1/uploads/${sessionId}/parts/1`, {
      'content-length': length,
    });
    const { status, body } = await part.answer;
    part.request.destroy();
    t.is(status, 400, length);
    t.is(body.code, 'invalid_part_size');
  }
});

test('a part of a size that cannot fit is refused, and the right one is accepted', async (t) => {
  const api = await createApi(t.context.vault);
  const refuse = async (sessionId: string, number: number, size: number, expected: string) => {
    const { status, body } = await putPart(api, sessionId, number, bytesOf(size));
    t.is(status, 400);
    t.is(body.code, 'invalid_part_size');
    const message = `received ${size} bytes; expected ${expected} bytes`;
    t.deepEqual(body.details, [{ path: 'Content-Length', message }]);
  };
  const one = await openSession(t, api, 1000);
  for (const size of [999, 1001, 0]) await refuse(one, 1, size, '1000');
  t.is((await putPart(api, one, 1, bytesOf(1000))).status, 200);
  t.is((await complete(api, one)).status, 200);

  const two = await openSession(t, api, minPart + 10, 2);
  await refuse(two, 2, 11, '1 to 10');
  await refuse(two, 1, minPart - 1, `${minPart} to ${minPart + 9}`);
  t.is((await putPart(api, two, 2, bytesOf(7))).status, 200);
  await refuse(two, 1, minPart, `${minPart + 3}`);
  t.is((await putPart(api, two, 1, bytesOf(minPart + 3))).status, 200);
  t.is((await complete(api, two)).status, 200);
});

test('the parts of an upload session never exceed the size of its file', async (t) => {
  const api = await createApi(t.context.vault);

  const sessionId = await openSession(t, api, minPart * 2 + 1, 3);
  const parts = [1, 2, 3].map(() => bytesOf(minPart + 1));
  const answers = await Promise.all(
    parts.map((part, index) => putPart(api, sessionId, index + 1, part)),
  );
  for (const { body } of answers.filter(({ status }) => status !== 200)) {
    t.is(body.code, 'invalid_part_size');
  }
  t.true(Number((await progress(api, sessionId)).body.uploadedBytes) <= minPart * 2 + 1);
});

test('a part without Content-Length is refused', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 10);
  const part = startPart(vault, api, `/v1/uploads/${sessionId}/parts/1`, {
    'transfer-encoding': 'chunked',
  });
  part.request.end(bytesOf(10));
  const { status, body } = await part.answer;
  t.is(status, 411);
  t.is(body.code, 'length_required');
});

test('a body sent with Expect: 100-continue is accepted', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 10);
  const part = startPart(vault, api, `/v1/uploads/${sessionId}/parts/1`, {
    'content-length': 10,
    expect: '100-continue',
  });
  part.request.once('continue', () => part.request.end(bytesOf(10)));
  t.is((await part.answer).status, 200);
});

test('a Content-Digest is checked, and a part that fails the check leaves nothing', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const part = bytesOf(1000);
  const sessionId = await openSession(t, api, part.length);
  const right = sha256(part);
  const wrong = [
    `sha-256=:${sha256(bytesOf(3))}:`,
    `sha-256=${right}`,
    `sha-256=:${right}`,
    'sha-256=:AAAA:',
    'sha-256=:not base64:',
    'nonsense',
    '',
  ];
  for (const digest of wrong) {
    const { status, body } = await putPart(api, sessionId, 1, part, { 'content-digest': digest });
    t.is(status, 400, digest);
    t.is(body.code, 'digest_mismatch', digest);
    t.like((await progress(api, sessionId)).body, { uploadedParts: 0, uploadedBytes: 0 });
    t.deepEqual(Object.keys(await storedFiles(vault, sessionId)), ['upload.json'], digest);
  }
  const digest = `sha-512=:AAAA:, sha-256=:${right}:`;
  t.is((await putPart(api, sessionId, 1, part, { 'content-digest': digest })).status, 200);
  const again = await putPart(api, sessionId, 1, part, { 'content-digest': wrong[0] ?? '' });
  t.is(again.body.code, 'digest_mismatch');
});

test('if a digest is given twice, the last one counts', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, 10);
  const part = bytesOf(10);
  const [right, wrong] = [part, bytesOf(10)].map((bytes) => `sha-256=:${sha256(bytes)}:`);
  const put = (digest: string) => putPart(api, sessionId, 1, part, { 'content-digest': digest });
  t.is((await put(`${right}, ${wrong}`)).body.code, 'digest_mismatch');
  t.is((await put(`${wrong}, ${right}`)).status, 200);
});

test('digests of other algorithms are ignored', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, 10);
  const digest = { 'content-digest': 'sha-512=:AAAA:' };
  t.is((await putPart(api, sessionId, 1, bytesOf(10), digest)).status, 200);
});
