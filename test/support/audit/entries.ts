import { randomUUID } from 'node:crypto';
import type { AuditEvent } from '../../../app/trail/event.ts';
import { createAuditTrail, type AuditTrail } from '../../../app/trail/trail.ts';
import { openDatabase, type Database, type Owner } from '../../../app/db/database.ts';
import type { TestVault } from '../vault/vault.ts';

/** A trail into the vault's database that wakes nobody: the sealers find its entries by polling. */
export interface TestTrail {
  readonly db: Database;
  readonly trail: AuditTrail;
  readonly owner: Owner;
  close(): Promise<void>;
}

export async function openTrail(
  vault: TestVault,
  owner: Owner = { userId: randomUUID(), tenantId: 'default' },
): Promise<TestTrail> {
  // Room for every parallel test transaction: none waits for a connection instead of a lock.
  const db = await openDatabase({ ...vault.config.database, poolSize: 50 });
  const trail = createAuditTrail({
    clock: () => new Date(),
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  return { db, trail, owner, close: () => db.close() };
}

export function eventOf(owner: Owner, resourceId: string): AuditEvent {
  return {
    action: 'upload.created',
    actor: { type: 'user', id: owner.userId },
    owner,
    resource: { type: 'upload', id: resourceId },
    requestId: randomUUID(),
    data: { fileSize: 1, totalParts: 1 },
  };
}

/** Entries of resources of their own, in one transaction. Answers their ids. */
export function appendEntries({ db, trail, owner }: TestTrail, count: number): Promise<string[]> {
  return db.asUser(owner, async (tx) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i += 1) {
      ids.push(await trail.append(tx, eventOf(owner, randomUUID())));
    }
    return ids;
  });
}
