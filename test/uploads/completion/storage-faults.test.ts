import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { mayMount, mountTmpfs, untilFree } from '../../support/documents/tmpfs.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { createApi, type Answer } from '../../support/documents/uploads.ts';
import {
  abort,
  bytesOf,
  complete,
  fileOf,
  MiB,
  openSession,
  progress,
  putPart,
} from '../../support/documents/files.ts';
import { startPart } from '../parts/slow-part.ts';
import { isThere, sessionDirectory } from '../../support/documents/stored-files.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault }>;
const run = promisify(execFile);

test.beforeEach(async (t) => {
  t.context = { vault: await startVault() };
});
test.afterEach.always((t) => t.context.vault.stop());

/** Replaces a directory of the store by a file. Resolves with a function that restores it. */
async function breakDirectory(directory: string): Promise<() => Promise<void>> {
  const aside = `${directory}-${randomUUID()}`;
  await rename(directory, aside);
  await writeFile(directory, '');
  return async () => {
    await rm(directory);
    await rename(aside, directory);
  };
}

const isRefused = (code: string, { status, headers, body }: Answer) =>
  status === 503 && body.code === code && headers.get('retry-after') !== null;
const isAway = (answer: Answer) => isRefused('storage_unavailable', answer);

test('without the store every step of an upload gets 503 and can be retried', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const uploads = path.join(vault.storeDirectory, 'uploads');
  const open = () => api.send('POST', '/v1/uploads', { json: fileOf(10) });

  let mend = await breakDirectory(uploads);
  t.true(isAway(await open()));
  await mend();
  const sessionId = String((await open()).body.sessionId);

  mend = await breakDirectory(uploads);
  t.true(isAway(await putPart(api, sessionId, 1, bytesOf(10))));
  t.like((await progress(api, sessionId)).body, { status: 'IN_PROGRESS', uploadedParts: 0 });
  await mend();
  t.is((await putPart(api, sessionId, 1, bytesOf(10))).status, 200);

  mend = await breakDirectory(uploads);
  t.true(isAway(await complete(api, sessionId)));
  t.like((await progress(api, sessionId)).body, { status: 'IN_PROGRESS', uploadedParts: 1 });
  await mend();
  t.is((await complete(api, sessionId)).status, 200);
});

test('an abort succeeds without the store, which deletes the parts once it is back', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const uploads = path.join(vault.storeDirectory, 'uploads');
  const sessionId = await openSession(t, api, 10);
  await putPart(api, sessionId, 1, bytesOf(10));
  const parts = await sessionDirectory(vault, sessionId);
  const mend = await breakDirectory(uploads);
  t.is((await abort(api, sessionId)).status, 200);
  await until(() => vault.logLines.some((line) => line.includes('failed and will be retried')), {
    what: 'the removal to fail',
    timeoutMs: 60_000,
  });
  await mend();
  // Files of a mark that is being written may remain.
  await until(async () => !(await isThere(parts)), {
    what: 'the removal of the parts',
    timeoutMs: 60_000,
  });
  t.is((await progress(api, sessionId)).body.status, 'ABORTED');
});

test('a store that fails during a part gives 503 while the client still sends', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const file = bytesOf(20 * MiB);
  const sessionId = await openSession(t, api, file.length);
  const directory = await sessionDirectory(vault, sessionId);
  const send = () =>
    startPart(vault, api, `/v1/uploads/${sessionId}/parts/1`, { 'content-length': file.length });

  const mend = await breakDirectory(directory);
  const part = send();
  part.request.end(file);
  const { status, body } = await part.answer;
  t.is(status, 503);
  t.is(body.code, 'storage_unavailable');
  await until(() => part.request.writableFinished, {
    what: 'the rest of the body to be read or refused',
    timeoutMs: 60_000,
  });
  await mend();
  const again = send();
  again.request.end(file);
  t.is((await again.answer).status, 200);
});

(mayMount ? test : test.skip)('a full disk during a part leaves no remains', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const directory = vault.storeDirectory;
  const aside = `${directory}-aside`;
  // Copies until it succeeds, as the vault keeps writing its marks to the directory.
  const copied = () =>
    cp(directory, aside, { recursive: true }).then(
      () => true,
      () => false,
    );
  await until(copied, { what: 'a copy of the store', timeoutMs: 60_000 });
  t.teardown(() => rm(aside, { recursive: true }));
  await mountTmpfs(directory, '8m');
  t.teardown(() => run('umount', ['-l', directory]));
  await cp(aside, directory, { recursive: true });
  const [big, small] = [await openSession(t, api, 20 * MiB), await openSession(t, api, 4 * MiB)];
  t.true(isRefused('storage_full', await putPart(api, big, 1, bytesOf(20 * MiB))));
  t.like((await progress(api, big)).body, { status: 'IN_PROGRESS', uploadedParts: 0 });
  t.deepEqual(await readdir(await sessionDirectory(vault, big)), ['upload.json']);
  await untilFree(directory, 4.5 * MiB);
  t.is((await putPart(api, small, 1, bytesOf(4 * MiB))).status, 200);
  t.is((await complete(api, small)).status, 200);
});
