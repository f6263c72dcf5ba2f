import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../app/async/clock.ts';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';
import { limitTallied, type Room } from '../../../app/audit/tallies/room.ts';
import type { AuditAction, AuditEvent } from '../../../app/audit-trail/event.ts';
import { createAuditTrail, type AuditTrail } from '../../../app/audit-trail/audit-trail.ts';
import { openDatabase, type Database, type Owner } from '../../../app/db/database.ts';
import type { TestVault } from '../vault/vault.ts';
import { testIssuer } from '../vault/stack.ts';

/** A trail into the vault's database that wakes no sealer: sealers find its entries by polling. */
export interface TestTrail {
  readonly db: Database;
  readonly trail: AuditTrail;
  readonly owner: Owner;
  /** Leaves room for up to 1,000 entries of tallies and downloads. */
  readonly readRoom: Room;
  close(): Promise<void>;
}

export async function openTrail(
  vault: TestVault,
  owner: Owner = { userId: randomUUID(), tenantId: 'default' },
  clock: Clock = () => new Date(),
): Promise<TestTrail> {
  // Enough connections for all concurrent test transactions, so that they only wait for locks.
  const db = await openDatabase({ ...vault.config.database, poolSize: 50 });
  const trail = createAuditTrail({
    issuer: testIssuer,
    assertClock: () => undefined,
    clock,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  const readRoom = limitTallied(createQueueCursor(), 1_000);
  return { db, trail, owner, readRoom, close: () => db.close() };
}

/** Returns an event of any action and resource, whether or not they belong together. */
export function eventOf(
  owner: Owner,
  resourceId: string,
  other: {
    readonly action?: AuditAction;
    readonly resource?: { readonly type: string; readonly id: string };
    readonly entryId?: string;
  } = {},
): AuditEvent {
  const event = {
    action: 'upload.created',
    actor: { type: 'user', id: owner.userId },
    owner,
    resource: { type: 'upload', id: resourceId },
    requestId: randomUUID(),
    data: { fileSize: 1, totalParts: 1 },
    ...other,
  };
  return event as AuditEvent;
}

/** Appends entries, each of a different resource, in one transaction. Resolves with their ids. */
export function appendEntries({ db, trail, owner }: TestTrail, count: number): Promise<string[]> {
  return db.asUser(owner, async (tx) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i += 1) {
      ids.push(await trail.append(tx, eventOf(owner, randomUUID())));
    }
    return ids;
  });
}
