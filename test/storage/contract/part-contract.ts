import { createHash, randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import type { StorageError } from '../../../app/storage/interface/storage-error.ts';
import { bodyOf, partBytes, testBytes } from '../../support/documents/bytes.ts';
import {
  newKey,
  openUpload,
  putBytes,
  readObject,
  throwsCode,
  type Guarantee,
} from '../../support/documents/stored.ts';

/** Defines the guarantees of parts while they arrive. */
export function partContract(guarantee: Guarantee): void {
  guarantee('concurrent parts form the object in the order of numbers', async (t, store) => {
    const contents = [testBytes(partBytes, 1), testBytes(partBytes, 2), testBytes(12_345, 3)];
    const upload = await openUpload(store);
    const parts = await Promise.all(
      [2, 0, 1].map((i) => putBytes(store, upload, i + 1, contents[i] as Buffer)),
    );
    t.is(await store.stat(upload.key), undefined);
    const { version } = await store.completeMultipart(upload.key, upload.uploadId, parts);
    const expected = Buffer.concat(contents);
    t.deepEqual(await store.stat(upload.key), { size: expected.length, version });
    t.true(expected.equals(await readObject(store, upload.key, { ifVersion: version })));
  });

  guarantee('a part sent again replaces the part', async (t, store) => {
    const upload = await openUpload(store);
    await putBytes(store, upload, 1, testBytes(1_000, 1));
    const part = await putBytes(store, upload, 1, testBytes(2_000, 2));
    await store.completeMultipart(upload.key, upload.uploadId, [part]);
    t.true(testBytes(2_000, 2).equals(await readObject(store, upload.key)));
  });

  guarantee('of two concurrent copies of a part one is stored whole', async (t, store) => {
    const contents = [testBytes(partBytes, 1), testBytes(partBytes, 2)];
    const upload = await openUpload(store);
    const sent = await Promise.all(contents.map((bytes) => putBytes(store, upload, 1, bytes)));
    for (const [index, part] of sent.entries()) {
      try {
        await store.completeMultipart(upload.key, upload.uploadId, [part]);
        const stored = await readObject(store, upload.key);
        t.true(contents[index]?.equals(stored));
        return;
      } catch (error) {
        t.is((error as StorageError).code, 'part_mismatch');
      }
    }
    t.fail('neither of the two parts is stored');
  });

  guarantee('a body that ends early leaves no part', async (t, store) => {
    const upload = await openUpload(store);
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

  guarantee('the SHA-256 of a part is known before its last bytes are sent', async (t, store) => {
    const upload = await openUpload(store);
    const bytes = testBytes(partBytes, 3);
    const sha256 = createHash('sha256').update(bytes).digest('base64');
    const told: string[] = [];
    const part = { ...upload, partNumber: 1, size: partBytes };
    const beforeEnd = (hash: string) => void told.push(hash);
    t.is((await store.putPart(part, bodyOf(bytes), { beforeEnd })).sha256, sha256);
    t.deepEqual(told, [sha256]);
  });

  guarantee('a body longer than announced leaves no part', async (t, store) => {
    const upload = await openUpload(store);
    const kept = await putBytes(store, upload, 1, testBytes(1_000, 1));
    const part = { ...upload, partNumber: 1, size: 100_000 };
    await throwsCode(t, store.putPart(part, bodyOf(testBytes(100_001, 2))), 'body_too_long');
    await store.completeMultipart(upload.key, upload.uploadId, [kept]);
    t.true(testBytes(1_000, 1).equals(await readObject(store, upload.key)));
  });

  guarantee('a body that breaks leaves no part and can be sent again', async (t, store) => {
    const upload = await openUpload(store);
    const kept = await putBytes(store, upload, 1, testBytes(1_000, 1));
    const body = new PassThrough();
    const broken = store.putPart({ ...upload, partNumber: 1, size: partBytes }, body);
    body.write(testBytes(100_000, 2), () => body.destroy(new Error('connection reset')));
    await throwsCode(t, broken, 'body_incomplete');
    await store.completeMultipart(upload.key, upload.uploadId, [kept]);
    t.true(testBytes(1_000, 1).equals(await readObject(store, upload.key)));
  });

  guarantee('an aborted signal ends a stalled part and spares its body', async (t, store) => {
    const upload = await openUpload(store);
    const body = new PassThrough();
    const abort = new AbortController();
    const part = { ...upload, partNumber: 1, size: partBytes };
    const stalled = store.putPart(part, body, { signal: abort.signal });
    const reason = new Error('gone');
    body.write(testBytes(100_000, 2), () => abort.abort(reason));
    t.is(await t.throwsAsync(stalled), reason);
    t.false(body.destroyed);
    t.is(await t.throwsAsync(store.putPart(part, body, { signal: abort.signal })), reason);
  });

  guarantee('a part for an unknown upload is refused and spares its body', async (t, store) => {
    const body = bodyOf(testBytes(partBytes, 1));
    const part = { key: newKey(), uploadId: randomUUID(), partNumber: 1, size: partBytes };
    await throwsCode(t, store.putPart(part, body), 'upload_not_found');
    t.is(body.errored, null);
  });
}
