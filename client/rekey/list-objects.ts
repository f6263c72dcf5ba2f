import { createTaskPool } from '../async/task-pool.ts';
import type { Devices } from '../devices/devices.ts';
import { ClientError } from '../errors/client-error.ts';
import { UnlistedError } from '../errors/unlisted-error.ts';
import type { Http } from '../http/http.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import type { Memory } from '../memory/memory.ts';
import type { RememberedChanges, StatementIds } from '../memory/values/remembered.ts';
import { firstCursor, hasGoneBack } from '../sync/exchange/cursor.ts';
import { bindToDevice, createObjectReader } from '../sync/exchange/requests.ts';
import type { JsonObject } from '../sync/objects/json.ts';
import { createLeafCipher } from '../sync/objects/leaf-encryption.ts';
import {
  findOlder,
  findOmission,
  findUnlisted,
  hashesOf,
  idsOf as idsOfStatements,
} from '../sync/statements/check-statements.ts';
import { createStatementEncryption } from '../sync/statements/statement-encryption.ts';
import { splitStatements } from '../sync/statements/statements-member.ts';
import { findNewerThan, olderThan, rolledBack } from '../sync/statements/verify-state.ts';
import { leaveOut, type LeftOut } from './left-out.ts';

const readsAtOnce = 4;

interface ListDependencies {
  readonly http: Http;
  readonly memory: Pick<Memory, 'lookAtObjects'>;
  readonly devices: Pick<Devices, 'current'>;
}

/** The statements of the objects that a rekey lists, and what it does not. */
export interface ListedObjects {
  readonly objects: RememberedChanges['objects'];
  readonly leftOut: readonly LeftOut[];
}

/**
 * Lists the statements of all synchronised objects of the user, and compares each with what is
 * remembered. Leaves out objects that cannot be decrypted or that an earlier master key made and
 * nobody listed, and all of them in a session that is not bound to a device: such a session may not
 * read them. A device that knows an object confirms it after the rekey. Throws RolledBackError.
 */
export async function listObjects(
  { http, memory, devices }: ListDependencies,
  keys: MasterKeys,
): Promise<ListedObjects> {
  const deviceId = devices.current();
  if (deviceId === undefined) return { objects: {}, leftOut: [] };
  const look = await memory.lookAtObjects();
  const reader = createObjectReader(bindToDevice(http, deviceId));
  const statements = createStatementEncryption(createLeafCipher(keys));
  const objects: RememberedChanges['objects'] = {};
  const leftOut: LeftOut[] = [];

  async function list(objectId: string): Promise<void> {
    const object = await reader.get(objectId);
    if (object === undefined) return;
    try {
      objects[objectId] = { statements: await findStatements(objectId, object) };
    } catch (error) {
      leftOut.push(leaveOut('object', objectId, error));
    }
  }

  async function findStatements(
    objectId: string,
    { version, data }: { readonly version: number; readonly data: JsonObject },
  ): Promise<StatementIds> {
    const opened = await statements.openAll(objectId, splitStatements(data).statements);
    const before = look.listed(objectId);
    const fault = findOmission(version, opened) ?? findOlder(opened, before ?? {});
    if (fault !== undefined) throw rolledBack(objectId, null, fault);
    const isUnlisted = before !== undefined && findUnlisted(opened, hashesOf(before)) !== undefined;
    if (isUnlisted) throw new UnlistedError('object', objectId);
    const ids = idsOfStatements(opened);
    const newest = findNewerThan(ids, look.known(objectId));
    if (newest !== undefined) throw olderThan(newest, objectId, ids);
    return ids;
  }

  try {
    const pool = createTaskPool(readsAtOnce);
    for await (const objectId of idsOf(reader)) await pool.start(() => list(objectId));
    await pool.finish();
    return { objects, leftOut };
  } finally {
    look.end();
  }
}

/** Yields the ids of all objects of the user. */
async function* idsOf(reader: ReturnType<typeof createObjectReader>) {
  let since = firstCursor;
  for (;;) {
    const { objects, nextCursor } = await reader.list(since);
    for (const { objectId } of objects) yield objectId;
    if (objects.length === 0) return;
    if (nextCursor === since || hasGoneBack(nextCursor, since)) {
      throw new ClientError('invalid_response');
    }
    since = nextCursor;
  }
}
