import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { open, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { openSocket } from '../../support/http/raw-http.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import {
  bytesOf,
  complete,
  MiB,
  minPart,
  openSession,
  putPart,
} from '../../support/documents/files.ts';
import { objectDirectory, partFile } from '../../support/documents/stored-files.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { createDocument, storeDocument } from '../../support/documents/documents.ts';
import { codeOf, countOpenFiles, download } from './downloads.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly api: Api }>;
const run = promisify(execFile);

test.beforeEach(async (t) => {
  const vault = await startVault();
  t.context = { vault, api: await createApi(vault) };
});
test.afterEach.always((t) => t.context.vault.stop());

const logged = ({ logLines }: TestVault, text: string) =>
  logLines.filter((line) => line.includes(text)).length;
const damage = 'a stored file is not the one that was hashed';

test('a download gets 503 while the store is down, and works once it is back', async (t) => {
  const { vault, api } = t.context;
  const bytes = bytesOf(100);
  const { id } = await storeDocument(t, api, bytes);
  const objects = path.join(vault.storeDirectory, 'objects');
  await rename(objects, `${objects}-aside`);
  await writeFile(objects, '');
  for (const headers of [{ range: '' }, { range: 'bytes=0-1' }]) {
    const answer = await download(vault, api, `${id}/download`, { headers });
    t.is(answer.status, 503);
    t.is(codeOf(answer), 'storage_unavailable');
    t.regex(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    t.is(answer.headers.get('cache-control'), 'no-store');
    t.is(answer.headers.get('etag'), null);
    t.is(answer.headers.get('content-disposition'), null);
  }
  await rm(objects);
  await rename(`${objects}-aside`, objects);
  t.true((await download(vault, api, `${id}/download`)).bytes.equals(bytes));
  t.is(logged(vault, damage), 0);
});

test('a stored file that differs from the hashed one is refused and logged', async (t) => {
  const { vault, api } = t.context;
  const changes: Record<string, (key: string) => Promise<void>> = {
    removed: (key) => rm(objectDirectory(vault, key), { recursive: true }),
    emptied: async (key) => truncate(await partFile(vault, key), 0),
    'lost a part': async (key) => rm(await partFile(vault, key)),
    replaced: async (key) => {
      const other = await storeDocument(t, api);
      await rm(objectDirectory(vault, key), { recursive: true });
      await rename(objectDirectory(vault, other.fileKey), objectDirectory(vault, key));
    },
    'lost its list of parts': (key) => rm(path.join(objectDirectory(vault, key), 'manifest.json')),
  };
  let found = 0;
  for (const [what, change] of Object.entries(changes)) {
    const { id, fileKey } = await storeDocument(t, api);
    await change(fileKey);
    for (const headers of [{ range: '' }, { range: 'bytes=50-' }]) {
      const answer = await download(vault, api, `${id}/download`, { headers });
      t.is(answer.status, 409, what);
      t.is(codeOf(answer), 'stored_file_changed', what);
      found += 1;
      t.is(logged(vault, damage), found, what);
    }
  }
});

test('a stored file that ends early breaks the connection, not just the response', async (t) => {
  const { vault, api } = t.context;
  const bytes = bytesOf(minPart + 1000);
  const sessionId = await openSession(t, api, bytes.length, 2);
  await putPart(api, sessionId, 1, bytes.subarray(0, minPart));
  await putPart(api, sessionId, 2, bytes.subarray(minPart));
  const fileKey = String((await complete(api, sessionId)).body.fileKey);
  const id = String((await createDocument(api, fileKey)).body.id);
  const directory = objectDirectory(vault, fileKey);
  const second = (await readdir(directory)).find((name) => name.startsWith('2-')) ?? '';
  await rm(path.join(directory, second));

  await t.throwsAsync(download(vault, api, `${id}/download`), { message: /terminated/ });
  await until(() => logged(vault, damage) === 1, {
    what: 'the damage to be logged',
    timeoutMs: 60_000,
  });
  const headers = { range: `bytes=0-${minPart - 1}` };
  const whole = await download(vault, api, `${id}/download`, { headers });
  t.true(whole.bytes.equals(bytes.subarray(0, minPart)));
});

const onLinux = process.platform === 'linux' ? test : test.skip;

/** Requests a file and reads nothing of the response. */
async function ask({ baseUrl }: TestVault, { token }: Api, id: string) {
  const socket = await openSocket(baseUrl);
  socket.on('error', () => undefined);
  socket.write(
    `GET /v1/documents/${id}/download HTTP/1.1\r\nHost: vault.test\r\n` +
      `Authorization: Bearer ${token}\r\n\r\n`,
  );
  return socket;
}

const noneOpen = (vault: TestVault, key: string) => async () =>
  (await countOpenFiles(vault, key)) === 0;

onLinux('a client that hangs up during a download leaves no file open', async (t) => {
  const { vault, api } = t.context;
  const { id, fileKey } = await storeDocument(t, api, bytesOf(64 * MiB));
  const socket = await ask(vault, api, id);
  // Reads no further: the file is far larger than the socket buffers.
  await once(socket, 'readable');
  t.is(await countOpenFiles(vault, fileKey), 1);
  socket.destroy();
  await until(noneOpen(vault, fileKey), { what: 'the file to be closed', timeoutMs: 60_000 });
  t.is(logged(vault, damage), 0);
  t.is(logged(vault, 'request failed'), 0);
});

onLinux('a client that hangs up before the first byte leaves no file open', async (t) => {
  const { vault, api } = t.context;
  const { id, fileKey } = await storeDocument(t, api);
  const part = await partFile(vault, fileKey);
  await rm(part);
  await run('mkfifo', [part]);
  const socket = await ask(vault, api, id);
  // Gives the store time to open the FIFO, where it waits until somebody else opens it too.
  await delay(500);
  socket.destroy();
  const isOver = () => vault.logLines.some((line) => line.includes('"aborted":true'));
  await until(isOver, { what: 'the request to end', timeoutMs: 60_000 });
  const other = await open(part, 'r+');
  await other.close();
  await until(noneOpen(vault, fileKey), { what: 'the file to be closed', timeoutMs: 60_000 });
  t.is(logged(vault, damage), 0);
  t.is(logged(vault, 'request failed'), 0);
});
