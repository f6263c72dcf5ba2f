import type { Exchange } from './exchange.ts';
import type { ShownState } from '../statements/check-statements.ts';
import { makeStatement } from '../statements/make-statement.ts';
import type { SentStatement } from '../objects/sealed-statements.ts';
import { hashLeaves } from '../statements/statements-member.ts';
import type { QueuedWrite, StoredObject } from '../stores/stored-object.ts';

/**
 * Resolves with the encrypted statement of this device for a write of an object. Resolves with
 * undefined for a removal, which leaves nothing that could hold one.
 */
export async function stateWrite(
  { encryption, statements, deviceId }: Exchange,
  { objectId, server, lastCount = 0 }: StoredObject,
  write: QueuedWrite,
): Promise<SentStatement | undefined> {
  if (write.kind === 'remove') return undefined;
  const whole = write.kind === 'create' ? write.data : write.before;
  const isPublic = await encryption.findPublic(objectId, whole);
  const known: ShownState | undefined =
    server === null || server.data === null
      ? undefined
      : {
          version: server.version,
          leaves: hashLeaves(server.data, isPublic),
          statements: await statements.openAll(objectId, server.statements),
        };
  const count = Math.max(lastCount, known?.statements.get(deviceId)?.count ?? 0) + 1;
  const [patch, baseVersion] =
    write.kind === 'create' ? [write.data, 0] : [write.delta, write.baseVersion];
  const made = makeStatement({ device: deviceId, count, patch, baseVersion, isPublic }, known);
  const leaf = await statements.seal(objectId, deviceId, made);
  // The vault takes a removal for a conflict if the statement is newer than the write's version.
  const isNewest = write.kind === 'change' && write.baseVersion === server?.version;
  const replaces = isNewest ? Object.keys(server.statements[deviceId] ?? {}) : [];
  return { count, leaf, replaces };
}
