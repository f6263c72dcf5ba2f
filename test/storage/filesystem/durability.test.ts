import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { partBytes, testBytes } from '../../support/documents/bytes.ts';
import { judgeDurability, traceFileCalls } from './file-trace.ts';
import { openUpload, putBytes } from '../../support/documents/stored.ts';

async function newDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'store-durable-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test('everything acknowledged is synced: bytes before they get a name, then names', async (t) => {
  const directory = await newDirectory(t);
  const program = join(import.meta.dirname, 'durable-writer.ts');
  const calls = await traceFileCalls(directory, [program, join(directory, 'store')]);
  t.deepEqual(judgeDurability(calls), {
    steps: ['create', 'open', 'part', 'complete', 'delete', 'abort'],
    losses: [],
  });
});

/** Returns values that change when a file is copied, written or renamed. */
async function identities(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of await readdir(directory)) {
    const { ino, size, mtimeNs, ctimeNs } = await stat(join(directory, name), { bigint: true });
    if (/^\d+-/.test(name)) found[name] = [ino, size, mtimeNs, ctimeNs].join(' ');
  }
  return found;
}

test('a completion copies no bytes: the parts’ files stay as they were written', async (t) => {
  const directory = await newDirectory(t);
  const store = await createObjectStore({ driver: 'filesystem', directory });
  const upload = await openUpload(store);
  const parts = [
    await putBytes(store, upload, 1, testBytes(partBytes, 1)),
    await putBytes(store, upload, 2, testBytes(partBytes, 2)),
  ];
  const only = async (path: string) => {
    const [name] = await readdir(join(directory, path));
    return join(directory, path, name ?? '');
  };
  const sent = await identities(await only('uploads'));
  t.is(Object.keys(sent).length, 2);
  await store.completeMultipart(upload.key, upload.uploadId, parts);
  t.deepEqual(await identities(await only('objects')), sent);
  t.deepEqual(await readdir(join(directory, 'uploads')), []);
});
