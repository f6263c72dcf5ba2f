import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import type { ObjectStore, StoredPart } from '../../app/storage/object-store.ts';
import { StorageError } from '../../app/storage/storage-error.ts';
import type { StorageErrorCode } from '../../app/storage/storage-error.ts';
import { bodyOf, partBytes, readAll, testBytes } from './bytes.ts';

const newKey = (name = 'file.bin') => `${randomUUID()}/${name}`;

async function throwsCode(
  t: ExecutionContext,
  work: Promise<unknown>,
  ...codes: StorageErrorCode[]
): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: StorageError });
  t.true(codes.includes(error.code), `${error.code}, not ${codes.join(' or ')}`);
}

async function putBytes(
  store: ObjectStore,
  upload: { key: string; uploadId: string },
  partNumber: number,
  bytes: Buffer,
): Promise<StoredPart> {
  const part = { ...upload, partNumber, size: bytes.length };
  return { partNumber, ...(await store.putPart(part, bodyOf(bytes))) };
}

async function open(
  store: ObjectStore,
  key = newKey(),
): Promise<{ key: string; uploadId: string }> {
  return { key, uploadId: await store.createMultipart(key) };
}

async function storeObject(
  store: ObjectStore,
  contents: Buffer[],
  key = newKey(),
): Promise<{ key: string; version: string }> {
  const upload = await open(store, key);
  const parts = [];
  for (const [index, bytes] of contents.entries()) {
    parts.push(await putBytes(store, upload, index + 1, bytes));
  }
  return { key, ...(await store.completeMultipart(key, upload.uploadId, parts)) };
}

/** What every object store guarantees. `openStore` is called once. */
export function objectStoreContract(name: string, openStore: () => Promise<ObjectStore>): void {
  let store: ObjectStore;
  const guarantee = (title: string, body: (t: ExecutionContext) => Promise<void>) =>
    test(`${name}: ${title}`, body);

  test.before(async () => {
    store = await openStore();
  });
  test.after.always(() => store?.close());

  guarantee(
    'parts sent in any order and in parallel make the object in the order of numbers',
    async (t) => {
      const contents = [testBytes(partBytes, 1), testBytes(partBytes, 2), testBytes(12_345, 3)];
      const upload = await open(store);
      const parts = await Promise.all(
        [2, 0, 1].map((i) => putBytes(store, upload, i + 1, contents[i] as Buffer)),
      );
      t.is(await store.stat(upload.key), undefined);
      const { version } = await store.completeMultipart(upload.key, upload.uploadId, parts);
      const expected = Buffer.concat(contents);
      t.deepEqual(await store.stat(upload.key), { size: expected.length, version });
      t.true(expected.equals(await readAll(await store.read(upload.key, { version }))));
    },
  );

  guarantee('a part sent again replaces the part', async (t) => {
    const upload = await open(store);
    await putBytes(store, upload, 1, testBytes(1_000, 1));
    const part = await putBytes(store, upload, 1, testBytes(2_000, 2));
    await store.completeMultipart(upload.key, upload.uploadId, [part]);
    t.true(testBytes(2_000, 2).equals(await readAll(await store.read(upload.key))));
  });

  guarantee('a part sent twice at the same time is one of the two, whole', async (t) => {
    const contents = [testBytes(partBytes, 1), testBytes(partBytes, 2)];
    const upload = await open(store);
    const sent = await Promise.all(contents.map((bytes) => putBytes(store, upload, 1, bytes)));
    for (const [index, part] of sent.entries()) {
      try {
        await store.completeMultipart(upload.key, upload.uploadId, [part]);
        const stored = await readAll(await store.read(upload.key));
        t.true(contents[index]?.equals(stored));
        return;
      } catch (error) {
        t.is((error as StorageError).code, 'part_mismatch');
      }
    }
    t.fail('neither part was there');
  });

  guarantee('a body that ends early leaves no part', async (t) => {
    const upload = await open(store);
    const part = { ...upload, partNumber: 1, size: partBytes };
    await throwsCode(
      t,
      store.putPart(part, bodyOf(testBytes(partBytes - 1, 1))),
      'body_incomplete',
    );
    await throwsCode(t, store.putPart(part, bodyOf(Buffer.alloc(0))), 'body_incomplete');
    const etags = [{ partNumber: 1, etag: 'd41d8cd98f00b204e9800998ecf8427e' }];
    await throwsCode(
      t,
      store.completeMultipart(upload.key, upload.uploadId, etags),
      'part_mismatch',
    );
    t.is(await store.stat(upload.key), undefined);
  });

  guarantee('a body that goes on leaves no part', async (t) => {
    const upload = await open(store);
    const kept = await putBytes(store, upload, 1, testBytes(1_000, 1));
    const part = { ...upload, partNumber: 1, size: 100_000 };
    await throwsCode(t, store.putPart(part, bodyOf(testBytes(100_001, 2))), 'body_too_long');
    await store.completeMultipart(upload.key, upload.uploadId, [kept]);
    t.true(testBytes(1_000, 1).equals(await readAll(await store.read(upload.key))));
  });

  guarantee('a body that breaks leaves no part and can be sent again', async (t) => {
    const upload = await open(store);
    const kept = await putBytes(store, upload, 1, testBytes(1_000, 1));
    const body = new PassThrough();
    const broken = store.putPart({ ...upload, partNumber: 1, size: partBytes }, body);
    body.write(testBytes(100_000, 2), () => body.destroy(new Error('connection reset')));
    await throwsCode(t, broken, 'body_incomplete');
    await store.completeMultipart(upload.key, upload.uploadId, [kept]);
    t.true(testBytes(1_000, 1).equals(await readAll(await store.read(upload.key))));
  });

  guarantee('an aborted signal ends a stalled part and leaves the body to its owner', async (t) => {
    const upload = await open(store);
    const body = new PassThrough();
    const abort = new AbortController();
    const part = { ...upload, partNumber: 1, size: partBytes };
    const stalled = store.putPart(part, body, abort.signal);
    const reason = new Error('gone');
    body.write(testBytes(100_000, 2), () => abort.abort(reason));
    t.is(await t.throwsAsync(stalled), reason);
    t.false(body.destroyed);
    t.is(await t.throwsAsync(store.putPart(part, body, abort.signal)), reason);
  });

  guarantee(
    'a part for an unknown upload is refused and leaves the body to its owner',
    async (t) => {
      const body = bodyOf(testBytes(partBytes, 1));
      const part = { key: newKey(), uploadId: randomUUID(), partNumber: 1, size: partBytes };
      await throwsCode(t, store.putPart(part, body), 'upload_not_found');
      t.false(body.destroyed);
    },
  );

  guarantee(
    'completing with a part that is missing or was replaced fails and can be mended',
    async (t) => {
      const upload = await open(store);
      const part = await putBytes(store, upload, 1, testBytes(partBytes, 1));
      const complete = (parts: StoredPart[]) =>
        store.completeMultipart(upload.key, upload.uploadId, parts);
      await throwsCode(t, complete([part, { ...part, partNumber: 2 }]), 'part_mismatch');
      await throwsCode(t, complete([{ ...part, etag: '0'.repeat(32) }]), 'part_mismatch');
      await throwsCode(t, complete([{ ...part, etag: '../../upload.json' }]), 'part_mismatch');
      t.is(await store.stat(upload.key), undefined);
      await t.notThrowsAsync(complete([part]));
    },
  );

  guarantee('completing again gives the same version', async (t) => {
    const upload = await open(store);
    const parts = [await putBytes(store, upload, 1, testBytes(1_000, 1))];
    const first = await store.completeMultipart(upload.key, upload.uploadId, parts);
    t.deepEqual(await store.completeMultipart(upload.key, upload.uploadId, parts), first);
    t.is((await store.stat(upload.key))?.version, first.version);
  });

  guarantee(
    'aborting twice is no error, and nothing can be added or completed after it',
    async (t) => {
      const upload = await open(store);
      const parts = [await putBytes(store, upload, 1, testBytes(1_000, 1))];
      await store.abortMultipart(upload.key, upload.uploadId);
      await store.abortMultipart(upload.key, upload.uploadId);
      await throwsCode(
        t,
        store.completeMultipart(upload.key, upload.uploadId, parts),
        'upload_not_found',
      );
      await throwsCode(t, putBytes(store, upload, 2, testBytes(1_000, 1)), 'upload_not_found');
      t.is(await store.stat(upload.key), undefined);
    },
  );

  guarantee('aborting a completed upload leaves the object', async (t) => {
    const upload = await open(store);
    const parts = [await putBytes(store, upload, 1, testBytes(1_000, 1))];
    await store.completeMultipart(upload.key, upload.uploadId, parts);
    await store.abortMultipart(upload.key, upload.uploadId);
    t.is((await store.stat(upload.key))?.size, 1_000);
  });

  guarantee('ranges are exact, over the borders of parts too', async (t) => {
    const contents = [testBytes(partBytes, 1), testBytes(partBytes, 2), testBytes(1_000, 3)];
    const whole = Buffer.concat(contents);
    const { key } = await storeObject(store, contents);
    const ranges: [number, number | undefined][] = [
      [0, 0],
      [0, partBytes],
      [partBytes - 1, partBytes],
      [partBytes, partBytes],
      [partBytes - 7, 2 * partBytes + 7],
      [2 * partBytes + 990, undefined],
      [whole.length - 1, whole.length + 100],
    ];
    for (const [start, end] of ranges) {
      const expected = whole.subarray(start, end === undefined ? undefined : end + 1);
      t.true(
        expected.equals(await readAll(await store.read(key, { start, end }))),
        `${start}-${end}`,
      );
    }
    await throwsCode(t, store.read(key, { start: whole.length }), 'invalid_range');
  });

  guarantee('a read that is given up frees its source', async (t) => {
    const { key } = await storeObject(store, [testBytes(partBytes, 1), testBytes(partBytes, 2)]);
    for (let i = 0; i < 100; i++) {
      const stream = await store.read(key);
      await stream[Symbol.asyncIterator]().next();
      stream.destroy();
    }
    t.pass();
  });

  guarantee(
    'other bytes under a key are another version, and the old one is not read',
    async (t) => {
      const first = await storeObject(store, [testBytes(1_000, 1)]);
      await store.delete(first.key, first.version);
      const second = await storeObject(store, [testBytes(1_000, 2)], first.key);
      t.not(second.version, first.version);
      t.is((await store.stat(first.key))?.version, second.version);
      await throwsCode(t, store.read(first.key, { version: first.version }), 'version_changed');
    },
  );

  guarantee('a deleted object is gone, and deleting again is no error', async (t) => {
    const { key, version } = await storeObject(store, [testBytes(1_000, 1)]);
    await store.delete(key, version);
    await store.delete(key, version);
    await store.delete(key);
    t.is(await store.stat(key), undefined);
    await throwsCode(t, store.read(key), 'object_not_found');
    await throwsCode(t, store.read(key, { version }), 'object_not_found', 'version_changed');
  });

  const names = {
    'quotes and brackets': `a 'b' "c" <d> [e] {f} (g) & h`,
    'URL syntax': 'x?versionId=1&a=b#c;d=e+f%20g%2Fh%00%',
    dots: '..a..b..',
    backslash: '..\\..\\etc\\passwd',
    'shell syntax': '-rf $HOME `id` |;*!~^',
    'several scripts': 'Größe 証拠 доказательство 🧾 \u202egnp.exe',
    spaces: ' leading, trailing ',
    '255 bytes': `${'é'.repeat(125)}.tiff`,
  };
  for (const [title, fileName] of Object.entries(names)) {
    guarantee(`a file name may hold ${title}`, async (t) => {
      const { key, version } = await storeObject(store, [testBytes(1_000, 1)], newKey(fileName));
      t.deepEqual(await store.stat(key), { size: 1_000, version });
      t.true(testBytes(1_000, 1).equals(await readAll(await store.read(key, { version }))));
      await store.delete(key, version);
      t.is(await store.stat(key), undefined);
    });
  }

  guarantee('a key that could leave the store is refused', async (t) => {
    const keys = [
      '',
      '/',
      '..',
      '../x',
      'x/..',
      'x/./y',
      '/etc/passwd',
      'x//y',
      'x\0y',
      'x/\ud800',
    ];
    for (const key of keys) await throwsCode(t, store.createMultipart(key), 'invalid_key');
  });

  guarantee('open uploads and stored objects are listed, each in its list alone', async (t) => {
    const upload = await open(store, newKey('open & <listed>'));
    const object = await storeObject(store, [testBytes(1_000, 1)], newKey('stored & <listed>'));
    const uploads = await collect(store.listUploads());
    const objects = await collect(store.listObjects());
    const listed = uploads.find(({ uploadId }) => uploadId === upload.uploadId);
    t.is(listed?.key, upload.key);
    t.true(listed && Math.abs(Date.now() - listed.createdAt.getTime()) < 60 * 60 * 1000);
    t.is(objects.find(({ key }) => key === object.key)?.size, 1_000);
    t.false(uploads.some(({ key }) => key === object.key));
    t.false(objects.some(({ key }) => key === upload.key));
  });

  guarantee('a ping resolves', async (t) => {
    await t.notThrowsAsync(store.ping());
  });
}
