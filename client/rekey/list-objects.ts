import { createTaskPool } from '../async/task-pool.ts';
import type { Devices } from '../devices/devices.ts';
import { ClientError } from '../errors/client-error.ts';
import type { Http } from '../http/http.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import type { Memory } from '../memory/memory.ts';
import type { RememberedChanges } from '../memory/values/remembered.ts';
import { firstCursor, hasGoneBack } from '../sync/exchange/cursor.ts';
import { bindToDevice, createObjectReader } from '../sync/exchange/requests.ts';
import type { JsonObject } from '../sync/objects/json.ts';
import { createLeafCipher } from '../sync/objects/leaf-encryption.ts';
import {
  findOlder,
  findUnlisted,
  idsOf as idsOfStatements,
} from '../sync/statements/check-statements.ts';
import { createStatementEncryption } from '../sync/statements/statement-encryption.ts';
import { splitStatements } from '../sync/statements/statements-member.ts';

const readsAtOnce = 4;

interface ListDependencies {
  readonly http: Http;
  readonly memory: Pick<Memory, 'lookAtObjects'>;
  readonly devices: Pick<Devices, 'current'>;
}

/**
 * Lists the statements of all synchronised objects of the user. Leaves out objects that are not
 * believed, and all of them in a session that is not bound to a device: such a session may not read
 * them. A device that knows an object confirms it after the rekey.
 */
export async function listObjects(
  { http, memory, devices }: ListDependencies,
  keys: MasterKeys,
): Promise<RememberedChanges['objects']> {
  const deviceId = devices.current();
  if (deviceId === undefined) return {};
  const look = await memory.lookAtObjects();
  const reader = createObjectReader(bindToDevice(http, deviceId));
  const statements = createStatementEncryption(createLeafCipher(keys));
  const listed: RememberedChanges['objects'] = {};

  async function list(objectId: string): Promise<void> {
    const object = await reader.get(objectId);
    if (object === undefined) return;
    const ids = await findStatements(objectId, object.data);
    if (ids !== undefined) listed[objectId] = { statements: ids };
  }

  /** Resolves with undefined if the statements of an object are not believed. */
  async function findStatements(objectId: string, data: JsonObject) {
    try {
      const { statements: sealed } = splitStatements(data);
      const opened = await statements.openAll(objectId, sealed);
      const before = look.listed(objectId);
      const trusted = new Set(Object.values(before ?? {}).map(([, hash]) => hash));
      const isOlder = findOlder(opened, before ?? {}) !== undefined;
      const isUnlisted = before !== undefined && findUnlisted(opened, trusted) !== undefined;
      return isOlder || isUnlisted ? undefined : idsOfStatements(opened);
    } catch (error) {
      if (error instanceof ClientError) return undefined;
      throw error;
    }
  }

  try {
    const pool = createTaskPool(readsAtOnce);
    for await (const objectId of idsOf(reader)) await pool.start(() => list(objectId));
    await pool.finish();
    return listed;
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
