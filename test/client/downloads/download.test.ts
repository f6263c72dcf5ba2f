import test from 'ava';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { ClientError } from '../../../client/errors/client-error.ts';
import { addVersion } from '../../../client/documents/add-version.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { downloadDocument, downloadFile } from '../../../client/downloads/download.ts';
import { headerBytes } from '../../../client/files/header.ts';
import type { Http } from '../../../client/http/http.ts';
import { createDocumentKey } from '../../../client/keys/document-key.ts';
import { trustKey } from '../../support/accounts/trusted-key.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { agingTokens } from '../../support/client/aging-tokens.ts';
import { collect } from '../../support/client/collect.ts';
import { pathOf, recordingFetch } from '../../support/client/recording-fetch.ts';
import { damageFile, sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';

const vault = await startReadyVault();
const user = await createUser(vault);
/** A file larger than what sockets and streams buffer for a slow reader. */
const long = await storeBytes(user, 40 * 2 ** 20);
const { masterKey, session } = user;
const tools = toolsOf(session);
test.after.always(() => vault.stop());

const segmentBytes = 2 ** 20;

// The tests are serial, because hashing and encrypting keep the processors busy.

/** Returns the user's tools with the given way to open downloads. */
const behind = (open: Http['open']) => ({ ...tools, http: { ...session.http, open } });

async function* first(length: number, pieces: AsyncIterable<Bytes>) {
  let left = length;
  for await (const piece of pieces) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left <= 0) return;
  }
}

async function* cutOff(pieces: AsyncIterable<Bytes>) {
  yield* pieces;
  throw new ClientError('network_error');
}

test.serial('a downloaded file equals the stored one, whatever its size', async (t) => {
  for (const size of [0, 1, segmentBytes - 100, 2 * segmentBytes + 7]) {
    const { document, bytes } = await storeBytes(user, size);
    const downloaded = await collect(downloadDocument(tools, { id: document.id, masterKey }));
    t.is(Buffer.compare(downloaded, bytes), 0, String(size));
  }
});

test.serial('a download resumes where its connection broke, however often', async (t) => {
  const { document, bytes } = long;
  await using proxy = await startTcpProxy(vault.baseUrl);
  const { fetch, sent } = recordingFetch();
  const client = connect({ ...vault, baseUrl: proxy.url }, fetch);
  const session = await client.login(user.credentials);

  const pieces: Bytes[] = [];
  for await (const piece of downloadDocument(toolsOf(session), { id: document.id, masterKey })) {
    pieces.push(piece);
    if (pieces.length % 10 !== 1) continue;
    await proxy.close();
    await proxy.open();
  }
  t.true(Buffer.concat(pieces).equals(bytes));
  const statuses = sent.filter(({ path }) => path.endsWith('/download')).map((r) => r.status);
  t.true(statuses.length > 2);
  t.deepEqual(new Set(statuses.slice(1)), new Set([206]));
});

test.serial('a download goes on although the vault sends the whole file again', async (t) => {
  const { document, bytes } = long;
  await using proxy = await startTcpProxy(vault.baseUrl);
  let answers = 0;
  const client = connect({ ...vault, baseUrl: proxy.url }, (input, init) => {
    const headers = new Headers(init?.headers);
    if (pathOf(input).endsWith('/download')) answers += 1;
    headers.delete('range');
    return fetch(input, { ...init, headers });
  });
  const session = await client.login(user.credentials);
  const pieces: Bytes[] = [];
  for await (const piece of downloadDocument(toolsOf(session), { id: document.id, masterKey })) {
    pieces.push(piece);
    if (pieces.length !== 5) continue;
    await proxy.close();
    await proxy.open();
  }
  t.is(answers, 2);
  t.true(Buffer.concat(pieces).equals(bytes));
});

test.serial(
  'a download whose responses all break before their first byte is given up',
  async (t) => {
    const { document } = await storeBytes(user, 10);
    let answers = 0;
    const broken = behind(async (request) => {
      answers += 1;
      const { status, pieces } = await session.http.open(request);
      return { status, pieces: cutOff(first(0, pieces)) };
    });
    const downloading = collect(downloadDocument(broken, { id: document.id, masterKey }));
    await t.throwsAsync(downloading, { code: 'network_error' });
    t.is(answers, 5);
  },
);

test.serial('bytes changed in the store are refused, wherever they are', async (t) => {
  const size = segmentBytes + 10;
  const places: [offset: number, code: string][] = [
    [0, 'invalid_file'],
    [13, 'wrong_key'],
    [45, 'authentication_failed'],
    [headerBytes, 'authentication_failed'],
    [segmentBytes - 1, 'authentication_failed'],
    [size + headerBytes + 2 * 16 - 1, 'file_hash_mismatch'],
  ];
  for (const [offset, code] of places) {
    const { document } = await storeBytes(user, size);
    await damageFile(vault, document.id, offset);
    const downloading = collect(downloadDocument(tools, { id: document.id, masterKey }));
    await t.throwsAsync(downloading, { name: 'ClientError', code }, String(offset));
  }
});

test.serial('a response that ends early is refused, also at the end of a segment', async (t) => {
  const { document } = await storeBytes(user, 2 * segmentBytes);
  for (const kept of [0, 1, headerBytes, segmentBytes, 2 * segmentBytes]) {
    const short = behind(async (request) => {
      const { status, pieces } = await session.http.open(request);
      return { status, pieces: first(kept, pieces) };
    });
    const downloading = collect(downloadDocument(short, { id: document.id, masterKey }));
    await t.throwsAsync(downloading, { code: 'file_hash_mismatch' }, String(kept));
  }
});

test.serial('a wrong key is reported as such', async (t) => {
  const { document } = await storeBytes(user, 10);
  const file = await openDocument(tools, { id: document.id, masterKey });
  const fileKey = createDocumentKey();
  const opening = collect(downloadFile(tools, { ...file, fileKey }));
  await t.throwsAsync(opening, { code: 'wrong_key' });
  const range = { offset: 0, length: 1 };
  const reading = collect(downloadFile(tools, { ...file, fileKey }, { range }));
  await t.throwsAsync(reading, { code: 'wrong_key' });
});

test.serial(
  'an older version in place of the current one is refused despite its valid key',
  async (t) => {
    const { document } = await storeBytes(user, 10);
    const { id } = document;
    await addVersion(tools, { id, masterKey, source: sourceOf(Buffer.from('newer')) });
    const outdated = behind((request) =>
      session.http.open({ ...request, query: { version: 1 }, headers: {} }),
    );
    const downloading = collect(downloadDocument(outdated, { id, masterKey }));
    await t.throwsAsync(downloading, { code: 'file_hash_mismatch' });
  },
);

test.serial('a download does not mix a superseded version with the current one', async (t) => {
  const { document } = await storeBytes(user, 10);
  const file = await openDocument(tools, { id: document.id, masterKey });
  const source = sourceOf(Buffer.from('newer'));
  await addVersion(tools, { id: document.id, masterKey, source });
  t.is((await collect(downloadFile(tools, file))).length, 10);
  const mixing = behind((request) => session.http.open({ ...request, query: {} }));
  await t.throwsAsync(collect(downloadFile(mixing, file)), { code: 'version_conflict' });
});

test.serial('a range returns the bytes of the file at its place, up to the end', async (t) => {
  const size = 3 * segmentBytes - 50;
  const { document, bytes } = await storeBytes(user, size);
  const first = segmentBytes - headerBytes - 16;
  const second = first + segmentBytes - 16;
  const ranges: [offset: number, length: number][] = [
    [0, 1],
    [0, first],
    [0, size],
    [first - 1, 2],
    [first, 1],
    [first, second - first],
    [second - 5, 10],
    [second, size],
    [size - 1, 1],
    [size - 1, 100],
    [size, 1],
  ];
  for (const [offset, length] of ranges) {
    const range = { offset, length };
    const read = await collect(downloadDocument(tools, { id: document.id, masterKey, range }));
    t.true(
      Buffer.from(read).equals(bytes.subarray(offset, offset + length)),
      String([offset, length]),
    );
  }
  const beyond = { offset: 4 * segmentBytes, length: 1 };
  const reading = collect(downloadDocument(tools, { id: document.id, masterKey, range: beyond }));
  await t.throwsAsync(reading, { name: 'VaultError', code: 'range_not_satisfiable' });
});

test.serial('a range of changed bytes, or beyond a truncated end, is refused', async (t) => {
  const { document } = await storeBytes(user, 2 * segmentBytes);
  const { id } = document;
  const range = { offset: segmentBytes, length: 10 };
  const short = behind(async (request) => {
    const { status, pieces } = await session.http.open(request);
    return { status, pieces: first(segmentBytes, pieces) };
  });
  const cut = collect(downloadDocument(short, { id, masterKey, range }));
  await t.throwsAsync(cut, { code: 'authentication_failed' });

  await damageFile(vault, id, segmentBytes + 5);
  const changed = collect(downloadDocument(tools, { id, masterKey, range }));
  await t.throwsAsync(changed, { code: 'authentication_failed' });
});

test.serial('a download whose access token expired is sent again with a new one', async (t) => {
  const { document, bytes } = await storeBytes(user, 10);
  const aging = agingTokens(await trustKey(vault));
  const aged = toolsOf(await connect(vault, aging.fetch).login(user.credentials));
  const file = await openDocument(aged, { id: document.id, masterKey });
  aging.expireAll();
  t.deepEqual(await collect(downloadFile(aged, file)), new Uint8Array(bytes));
});

test.serial('an aborted download rejects with the caller’s reason', async (t) => {
  const { document } = long;
  const caller = new AbortController();
  const reason = new Error('the user left');
  const { signal } = caller;
  const downloading = downloadDocument(tools, { id: document.id, masterKey, signal });
  await downloading.next();
  caller.abort(reason);
  t.is(await t.throwsAsync(collect(downloading)), reason);
});
