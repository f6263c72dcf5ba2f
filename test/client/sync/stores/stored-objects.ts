import { randomUUID } from 'node:crypto';
import type { StoredObject } from '../../../../client/sync/stores/stored-object.ts';

/** Returns an object as the vault has it, with an empty queue. */
export const objectOf = (text: string, objectId: string = randomUUID()): StoredObject => ({
  objectId,
  server: { version: 1, data: { text }, statements: {} },
  queue: [],
});
