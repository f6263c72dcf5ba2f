import { testBytes } from '../../support/documents/bytes.ts';
import {
  collect,
  newKey,
  openUpload,
  readObject,
  storeObject,
  throwsCode,
  type Guarantee,
} from '../../support/documents/stored.ts';

/** Defines the guarantees of keys, deletion and lists. */
export function objectContract(guarantee: Guarantee): void {
  guarantee('a deleted object is gone, and deletion is idempotent', async (t, store) => {
    const { key, version } = await storeObject(store, [testBytes(1_000, 1)]);
    await store.delete(key, version);
    await store.delete(key, version);
    await store.delete(key);
    t.is(await store.stat(key), undefined);
    await throwsCode(t, store.get(key), 'object_not_found');
    const gone = store.get(key, { ifVersion: version });
    await throwsCode(t, gone, 'object_not_found', 'version_changed');
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
    guarantee(`a file name may have ${title}`, async (t, store) => {
      const { key, version } = await storeObject(store, [testBytes(1_000, 1)], newKey(fileName));
      t.deepEqual(await store.stat(key), { size: 1_000, version });
      t.true(testBytes(1_000, 1).equals(await readObject(store, key, { ifVersion: version })));
      const listed = await collect(store.listObjects());
      t.true(listed.some((object) => object.key === key));
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

  guarantee('uploads and objects are listed, each in its own list only', async (t, store) => {
    const upload = await openUpload(store, newKey('open & <listed>'));
    const object = await storeObject(store, [testBytes(1_000, 1)], newKey('stored & <listed>'));
    const uploads = await collect(store.listUploads());
    const objects = await collect(store.listObjects());
    const listed = uploads.find(({ uploadId }) => uploadId === upload.uploadId);
    t.is(listed?.key, upload.key);
    t.true(
      listed !== undefined && Math.abs(Date.now() - listed.createdAt.getTime()) < 60 * 60 * 1000,
    );
    t.is(objects.find(({ key }) => key === object.key)?.size, 1_000);
    t.false(uploads.some(({ key }) => key === object.key));
    t.false(objects.some(({ key }) => key === upload.key));
  });

  guarantee('objects can be listed by a prefix of their keys', async (t, store) => {
    const { key } = await storeObject(store, [testBytes(1_000, 1)], newKey('a.bin'));
    await storeObject(store, [testBytes(1_000, 1)], newKey('a.bin'));
    const listed = await collect(store.listObjects(key.slice(0, -'a.bin'.length)));
    t.deepEqual(
      listed.map((object) => object.key),
      [key],
    );
  });
}
