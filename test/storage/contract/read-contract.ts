import type { ByteRange } from '../../../app/storage/interface/object-store.ts';
import { StorageError } from '../../../app/storage/interface/storage-error.ts';
import { partBytes, readAll, testBytes } from '../../support/documents/bytes.ts';
import {
  newKey,
  readObject,
  storeObject,
  throwsCode,
  type Guarantee,
} from '../../support/documents/stored.ts';

const contents = () => [testBytes(partBytes, 1), testBytes(partBytes, 2), testBytes(1_000, 3)];

/** Defines the guarantees of reading objects, whole and in ranges. */
export function readContract(guarantee: Guarantee): void {
  guarantee('size and version are known before the first byte', async (t, store) => {
    const { key, version } = await storeObject(store, contents());
    const size = 2 * partBytes + 1_000;
    for (const range of [undefined, { first: 7, last: 8 }]) {
      const { body, ...known } = await store.get(key, { range });
      t.deepEqual(known, { size, version });
      body.destroy();
    }
    await throwsCode(t, store.get(newKey()), 'object_not_found');
  });

  guarantee('ranges are exact, even across parts', async (t, store) => {
    const whole = Buffer.concat(contents());
    const { key, version } = await storeObject(store, contents());
    const end = whole.length - 1;
    const ranges: ByteRange[] = [
      { first: 0 },
      { first: 0, last: 0 },
      { first: 0, last: end },
      { first: end, last: end },
      { first: end },
      { first: 0, last: partBytes },
      { first: partBytes - 1, last: partBytes },
      { first: partBytes, last: partBytes },
      { first: partBytes - 7, last: 2 * partBytes + 7 },
      { first: 2 * partBytes + 990 },
      { first: end, last: end + 100 },
    ];
    for (const range of ranges) {
      const expected = whole.subarray(range.first, (range.last ?? end) + 1);
      const read = await readObject(store, key, { range, ifVersion: version });
      t.true(expected.equals(read), `${range.first}-${range.last}`);
    }
  });

  guarantee('a range without a byte of the object is refused', async (t, store) => {
    const { key } = await storeObject(store, [testBytes(1_000, 1)]);
    const ranges = [{ first: 1_000 }, { first: 1_000, last: 2_000 }, { first: 5, last: 4 }];
    for (const range of ranges) await throwsCode(t, store.get(key, { range }), 'invalid_range');
  });

  guarantee('the old version of a replaced object cannot be read', async (t, store) => {
    const first = await storeObject(store, [testBytes(1_000, 1)]);
    await store.delete(first.key, first.version);
    const second = await storeObject(store, [testBytes(1_000, 2)], first.key);
    t.not(second.version, first.version);
    t.is((await store.stat(first.key))?.version, second.version);
    for (const range of [undefined, { first: 3 }]) {
      const old = store.get(first.key, { range, ifVersion: first.version });
      await throwsCode(t, old, 'version_changed');
    }
  });

  guarantee('a read never mixes bytes of two versions of an object', async (t, store) => {
    const old = Buffer.concat(contents());
    const { key, version } = await storeObject(store, contents());
    const { body } = await store.get(key, { ifVersion: version });
    const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const first = await chunks.next();
    await store.delete(key, version);
    const [one, two, three] = contents() as [Buffer, Buffer, Buffer];
    await storeObject(store, [two, one, three], key);
    const read = [first.value as Buffer];
    try {
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
        read.push(next.value);
      }
      t.true(old.equals(Buffer.concat(read)));
    } catch (error) {
      t.true(error instanceof StorageError, String(error));
      t.true(old.subarray(0, Buffer.concat(read).length).equals(Buffer.concat(read)));
    }
  });

  guarantee('a signal ends a read before it starts and during it', async (t, store) => {
    const { key } = await storeObject(store, contents());
    const reason = new Error('gone');
    t.is(await t.throwsAsync(store.get(key, { signal: AbortSignal.abort(reason) })), reason);
    const abort = new AbortController();
    const { body } = await store.get(key, { signal: abort.signal });
    await body[Symbol.asyncIterator]().next();
    abort.abort(reason);
    t.is(body.errored ?? (await t.throwsAsync(readAll(body))), reason);
  });
}
