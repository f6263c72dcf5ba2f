import { findUnlisted, hashesOf } from '../statements/check-statements.ts';
import { hashLeaf } from '../statements/statement.ts';
import { findNewest } from '../statements/statements-member.ts';
import type { QueuedWrite, StoredObject } from '../stores/stored-object.ts';
import type { Exchange } from './exchange.ts';
import type { VerifyDependencies } from '../statements/verify-state.ts';

interface ConfirmOptions extends Pick<VerifyDependencies, 'look'> {
  readonly refused: ReadonlyMap<string, unknown>;
  readonly now: () => Date;
}

/**
 * Queues an empty change of each object in which this device trusts statements under earlier master
 * keys that the list of the rekey does not name. The statement of the change, under the present
 * master key, tells the other devices that they may trust them as well.
 */
export async function queueConfirmations(
  { local, statements }: Exchange,
  { look, refused, now }: ConfirmOptions,
): Promise<void> {
  for (const objectId of local.ids()) {
    const object = local.find(objectId);
    if (object === undefined || refused.has(objectId)) continue;
    if (!(await needsConfirmation(object))) continue;
    await local.commit(() => {
      const present = local.find(objectId);
      const change = present === undefined ? undefined : emptyChange(present, now());
      if (present === undefined || change === undefined) return { objects: [] };
      return { objects: [{ ...present, queue: [change] }] };
    });
  }

  async function needsConfirmation({ objectId, server, queue }: StoredObject): Promise<boolean> {
    if (server === null || server.data === null || queue.length > 0) return false;
    const listed = look.listed(objectId);
    if (listed === undefined) return false;
    const named = hashesOf(listed);
    const newest = [...findNewest(server.statements).values()];
    if (newest.every(({ leaf }) => named.has(hashLeaf(leaf)))) return false;
    const opened = await statements.openAll(objectId, server.statements);
    return findUnlisted(opened, named) !== undefined;
  }
}

function emptyChange({ server, queue }: StoredObject, now: Date): QueuedWrite | undefined {
  if (server === null || server.data === null || queue.length > 0) return undefined;
  const { version: baseVersion, data: before } = server;
  return { kind: 'change', baseVersion, before, delta: {}, changedAt: now.getTime() };
}
