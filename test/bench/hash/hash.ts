import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createObjectStore, type StoreConfig } from '../../../app/storage/create-store.ts';
import { createObjectHasher } from '../../../app/storage/object-hash.ts';
import { median, round, type Bench } from '../harness/bench.ts';

const rounds = 9;
const partBytes = 64 * 2 ** 20;
const parts = 8;
const fileBytes = parts * partBytes;
const bufferBytes = 2 ** 20;

/**
 * Measures MB/s at which the worker thread hashes a stored object, against OpenSSL's SHA3-256 in
 * Node over a plain file of the same bytes. Both are read from the page cache.
 */
export const benchHash: Bench = async (progress) => {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-bench-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const config: StoreConfig = { driver: 'filesystem', directory: join(directory, 'objects') };
  await mkdir(config.directory);
  const part = randomBytes(partBytes);
  const plain = await writePlain(join(directory, 'plain'), part);
  const { key, version } = await storeObject(config, part);
  const hasher = createObjectHasher(config, { concurrency: 1 });
  resources.defer(() => hasher.close());

  const ms = { ours: [], reference: [] } as Record<'ours' | 'reference', number[]>;
  for (let turn = 0; turn <= rounds; turn++) {
    let startedAt = performance.now();
    const { sha3 } = await hasher.hash(key, version);
    const ours = performance.now() - startedAt;
    startedAt = performance.now();
    const expected = await hashPlain(plain);
    const reference = performance.now() - startedAt;
    if (sha3 !== expected) throw new Error('the hashes differ');
    progress(`round ${turn}: ours ${speed(ours)} MB/s, OpenSSL in Node ${speed(reference)} MB/s`);
    // The first round starts the thread.
    if (turn === 0) continue;
    ms.ours.push(ours);
    ms.reference.push(reference);
  }

  const ours = speed(median(ms.ours));
  const reference = speed(median(ms.reference));
  return {
    ours,
    reference,
    unit: 'MB/s',
    ratio: round(ours / reference),
    fileMiB: fileBytes / 2 ** 20,
    rounds,
  };
};

/** Returns the megabytes a second for one file. */
function speed(ms: number): number {
  return round(fileBytes / 1_000 / ms, 1);
}

async function writePlain(path: string, part: Buffer): Promise<string> {
  await using file = await open(path, 'w');
  for (let written = 0; written < parts; written++) await file.writeFile(part);
  return path;
}

async function hashPlain(path: string): Promise<string> {
  const hash = createHash('sha3-256');
  for await (const chunk of createReadStream(path, { highWaterMark: bufferBytes })) {
    hash.update(chunk as Buffer);
  }
  return hash.digest('hex');
}

async function storeObject(config: StoreConfig, part: Buffer) {
  const store = await createObjectStore(config, { mayCreate: async () => true });
  const key = 'bench/file.bin';
  const uploadId = await store.createMultipart(key);
  const stored = [];
  for (let partNumber = 1; partNumber <= parts; partNumber++) {
    const body = Readable.from(piecesOf(part), { objectMode: false });
    const target = { key, uploadId, partNumber, size: part.length };
    stored.push({ partNumber, etag: (await store.putPart(target, body)).etag });
  }
  const { version } = await store.completeMultipart(key, uploadId, stored);
  await store.close();
  return { key, version };
}

function* piecesOf(part: Buffer): Generator<Buffer> {
  for (let start = 0; start < part.length; start += bufferBytes) {
    yield part.subarray(start, start + bufferBytes);
  }
}
