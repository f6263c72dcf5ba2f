import { ClientError } from '../../errors/client-error.ts';
import type { Exchange } from './exchange.ts';
import type { ObjectEncryption, OpenObject } from '../objects/object-encryption.ts';
import {
  asUnsent,
  viewOf,
  type QueuedWrite,
  type ServerState,
  type StoredObject,
} from '../stores/stored-object.ts';

/**
 * The refusal with which this device's changes of an object are kept after another device deleted
 * the object.
 */
const refusal = {
  code: 'deleted_on_server',
  message: 'Another device deleted the object before these changes were sent.',
};

/**
 * Handles an object that another device deleted: deletes the object on this device too, and lets
 * the application decide what happens to this device's unsent changes. Changes that cannot be
 * decrypted are kept.
 */
export async function settleDeletion(
  { local, encryption, resolveDeletion }: Exchange,
  objectId: string,
  server: ServerState,
): Promise<void> {
  const commit = (decide: (object: StoredObject) => StoredObject[]) =>
    local.commit(() => {
      const object = local.find(objectId);
      return { objects: object === undefined ? [] : decide(object) };
    });
  const drop = (object: StoredObject) => ({ ...object, queue: [] });
  const keep = (object: StoredObject) => ({
    ...object,
    queue: object.queue.map((write) => asUnsent(write, refusal)),
  });

  await commit((object) => [{ ...object, server }]);
  const deleted = local.find(objectId);
  const changed = deleted === undefined ? undefined : await findChanged(encryption, deleted);
  if (changed === undefined) return commit((object) => [drop(object)]);
  if (changed === 'invalid_leaf') return commit((object) => [keep(object)]);

  const { objectType, data } = changed;
  const choice = await resolveDeletion({ objectId, objectType, data });
  if (choice === 'drop') return commit((object) => [drop(object)]);
  if (choice === 'keep') return commit((object) => [keep(object)]);
  if (choice !== 'recreate') {
    throw new TypeError("The resolution of a deletion must be 'drop', 'keep' or 'recreate'.");
  }
  const anew = crypto.randomUUID();
  const created: QueuedWrite = {
    kind: 'create',
    data: await encryption.seal(anew, { objectType, data }),
    ...(objectType !== undefined && { objectType }),
    changedAt: deleted?.queue.at(-1)?.changedAt ?? 0,
  };
  return commit((object) => [drop(object), { objectId: anew, server: null, queue: [created] }]);
}

/**
 * Decrypts the object as this device changed it. Resolves with undefined if this device did not
 * change the object or deleted it too, and with 'invalid_leaf' if the object cannot be decrypted.
 */
async function findChanged(
  encryption: ObjectEncryption,
  { objectId, queue }: StoredObject,
): Promise<OpenObject | 'invalid_leaf' | undefined> {
  const [first] = queue;
  if (first === undefined || first.kind === 'create') return undefined;
  const server = { version: first.baseVersion, data: first.before, statements: {} };
  const sealed = viewOf({ objectId, server, queue });
  if (sealed === undefined) return undefined;
  try {
    return await encryption.open(objectId, sealed);
  } catch (error) {
    if (error instanceof ClientError && error.code === 'invalid_leaf') return error.code;
    throw error;
  }
}
