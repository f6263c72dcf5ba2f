import { partBytes, readAll, testBytes } from './bytes.ts';
import { collect, newKey, openUpload, storeObject, throwsCode } from './stored.ts';
import type { Guarantee } from './stored.ts';

/** Keys, stat, reads, deletion and lists. */
export function objectContract(guarantee: Guarantee): void {
  guarantee('ranges are exact, over the borders of parts too', async (t, store) => {
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

  guarantee('a read that is given up frees its source', async (t, store) => {
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
    async (t, store) => {
      const first = await storeObject(store, [testBytes(1_000, 1)]);
      await store.delete(first.key, first.version);
      const second = await storeObject(store, [testBytes(1_000, 2)], first.key);
      t.not(second.version, first.version);
      t.is((await store.stat(first.key))?.version, second.version);
      await throwsCode(t, store.read(first.key, { version: first.version }), 'version_changed');
    },
  );

  guarantee('a deleted object is gone, and deleting again is no error', async (t, store) => {
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
    guarantee(`a file name may hold ${title}`, async (t, store) => {
      const { key, version } = await storeObject(store, [testBytes(1_000, 1)], newKey(fileName));
      t.deepEqual(await store.stat(key), { size: 1_000, version });
      t.true(testBytes(1_000, 1).equals(await readAll(await store.read(key, { version }))));
      await store.delete(key, version);
      t.is(await store.stat(key), undefined);
    });
  }

  guarantee('a key that could leave the store is refused', async (t, store) => {
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

  guarantee(
    'open uploads and stored objects are listed, each in its list alone',
    async (t, store) => {
      const upload = await openUpload(store, newKey('open & <listed>'));
      const object = await storeObject(store, [testBytes(1_000, 1)], newKey('stored & <listed>'));
      const uploads = await collect(store.listUploads());
      const objects = await collect(store.listObjects());
      const listed = uploads.find(({ uploadId }) => uploadId === upload.uploadId);
      t.is(listed?.key, upload.key);
      t.true(listed && Math.abs(Date.now() - listed.createdAt.getTime()) < 60 * 60 * 1000);
      t.is(objects.find(({ key }) => key === object.key)?.size, 1_000);
      t.false(uploads.some(({ key }) => key === object.key));
      t.false(objects.some(({ key }) => key === upload.key));
    },
  );
}
