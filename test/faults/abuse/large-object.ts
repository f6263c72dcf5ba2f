import { randomUUID } from 'node:crypto';
import { change, type SyncDevice } from '../../support/sync/devices.ts';

const leaves = Array.from({ length: 9_900 }, (_, n) => [`a-leaf-with-a-rather-long-name-${n}`, n]);

/** About 0.4 MB with nearly as many leaves as an object may have. */
export const largeData = Object.fromEntries(leaves) as Readonly<Record<string, number>>;

/** The name of one of its leaves. */
export const someLeaf = 'a-leaf-with-a-rather-long-name-0';

/** Stores a large object, changes every leaf of it several times, and returns its id. */
export async function storeLargeObject({ create, write }: SyncDevice): Promise<string> {
  const objectId = randomUUID();
  await create({ objectId, data: largeData });
  for (let base = 1; base <= 10; base += 1) {
    const delta = Object.fromEntries(Object.keys(largeData).map((leaf) => [leaf, 10 + base]));
    await write(change(objectId, base, delta));
  }
  return objectId;
}
