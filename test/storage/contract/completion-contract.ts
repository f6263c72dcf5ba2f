import type { StoredPart } from '../../../app/storage/interface/object-store.ts';
import { partBytes, testBytes } from '../../support/documents/bytes.ts';
import {
  openUpload,
  putBytes,
  readObject,
  throwsCode,
  type Guarantee,
} from '../../support/documents/stored.ts';

/** Defines the guarantees of how an upload ends: completion and abortion. */
export function completionContract(guarantee: Guarantee): void {
  guarantee('completing with a missing or replaced part can be repaired', async (t, store) => {
    const upload = await openUpload(store);
    const part = await putBytes(store, upload, 1, testBytes(partBytes, 1));
    const complete = (parts: StoredPart[]) =>
      store.completeMultipart(upload.key, upload.uploadId, parts);
    await throwsCode(t, complete([part, { ...part, partNumber: 2 }]), 'part_mismatch');
    await throwsCode(t, complete([]), 'part_mismatch');
    await throwsCode(t, complete([{ ...part, etag: '0'.repeat(32) }]), 'part_mismatch');
    await throwsCode(t, complete([{ ...part, etag: '../../upload.json' }]), 'part_mismatch');
    t.is(await store.stat(upload.key), undefined);
    await t.notThrowsAsync(complete([part]));
  });

  guarantee('a lost part is found and can be sent again', async (t, store) => {
    const { key, uploadId } = await openUpload(store);
    const send = (number: number, bytes: Buffer) =>
      putBytes(store, { key, uploadId }, number, bytes);
    const findLost = (parts: StoredPart[]) => store.findLostParts(key, uploadId, parts);
    const first = await send(1, testBytes(partBytes, 1));
    const second = await send(2, testBytes(1_000, 2));
    t.deepEqual(await findLost([second, first]), []);
    const unknown = { partNumber: 3, etag: '0'.repeat(32) };
    t.deepEqual(await findLost([unknown, { ...second, etag: unknown.etag }, first]), [2, 3]);
    const third = await send(3, testBytes(2_000, 3));
    t.deepEqual(await findLost([first, second, third]), []);
    await store.completeMultipart(key, uploadId, [first, second]);
    await throwsCode(t, findLost([first, second]), 'upload_not_found');
  });

  guarantee('a part replaced by a concurrent one is found lost, or kept', async (t, store) => {
    const { key, uploadId } = await openUpload(store);
    const recorded = await putBytes(store, { key, uploadId }, 1, testBytes(1_000, 1));
    await putBytes(store, { key, uploadId }, 1, testBytes(1_000, 2));
    const lost = await store.findLostParts(key, uploadId, [recorded]);
    const completed = store.completeMultipart(key, uploadId, [recorded]);
    if (lost.length === 0) {
      await completed;
    } else {
      await throwsCode(t, completed, 'part_mismatch');
      const again = await putBytes(store, { key, uploadId }, 1, testBytes(1_000, 1));
      t.deepEqual(await store.findLostParts(key, uploadId, [again]), []);
      await store.completeMultipart(key, uploadId, [again]);
    }
    t.true(testBytes(1_000, 1).equals(await readObject(store, key)));
  });

  guarantee('completing again returns the same version', async (t, store) => {
    const upload = await openUpload(store);
    const parts = [await putBytes(store, upload, 1, testBytes(1_000, 1))];
    const first = await store.completeMultipart(upload.key, upload.uploadId, parts);
    t.deepEqual(await store.completeMultipart(upload.key, upload.uploadId, parts), first);
    t.is((await store.stat(upload.key))?.version, first.version);
  });

  guarantee('aborting is idempotent, and final for parts and completion', async (t, store) => {
    const upload = await openUpload(store);
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
  });

  guarantee('aborting a completed upload keeps the object', async (t, store) => {
    const upload = await openUpload(store);
    const parts = [await putBytes(store, upload, 1, testBytes(1_000, 1))];
    await store.completeMultipart(upload.key, upload.uploadId, parts);
    await store.abortMultipart(upload.key, upload.uploadId);
    t.is((await store.stat(upload.key))?.size, 1_000);
  });
}
