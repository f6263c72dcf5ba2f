import { randomUUID } from 'node:crypto';
import { SignerRefused, SignerUnavailable } from '../../../signer/protocol/signer-error.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { KeyRegistry } from '../../signing-keys/registry.ts';
import {
  assertWaiting,
  claimLetters,
  countWaiting,
  keepLetter,
  lease,
  listWaiting,
  lockLetter,
  recoverLetters,
  releaseLetters,
  storeSeals,
  type LetterChoice,
} from './letters.ts';
import { operatorOf, type Operator } from './operator.ts';
import type { Caller, InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Act } from '../../audit-trail/act.ts';
import {
  earlyEntries,
  type ClaimedEntry,
  type EntrySigning,
  type Signed,
} from '../sealing/entry-signing.ts';
import type { AuditEvent } from '../../audit-trail/event.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';

interface RetriedEntry {
  readonly id: string;
  /** PENDING if the entry is still in the queue. */
  readonly status: 'RECOVERED' | 'PENDING';
  /** Number of failed attempts to seal the entry. */
  readonly attempts: number;
  readonly lastError: string | null;
}

interface RetriedBatch {
  readonly processed: number;
  readonly succeeded: number;
  readonly failed: number;
  /** How many entries that the operator may retry are still in the queue. */
  readonly remaining: number;
}

const batchSize = 200;

export interface DlqOptions {
  readonly db: Database;
  readonly signing: EntrySigning;
  readonly registry: KeyRegistry;
  readonly act: Act;
  readonly audit: AuditTrail;
  readonly clock: Clock;
}

/** Creates the functions that sign dead entries again. */
export function createDlqRetry(options: DlqOptions) {
  const { db, signing, registry, audit, clock } = options;

  /**
   * Signs leased entries and records the retries. Returns one outcome for each entry, except for
   * entries whose lease was lost. Releases the leases if signing throws.
   */
  async function sealAgain(
    claimId: string,
    entries: readonly ClaimedEntry[],
    operator: Operator,
  ): Promise<RetriedEntry[]> {
    if (entries.length === 0) return [];
    try {
      for (;;) {
        const { keyId } = await registry.active('audit');
        const signed = await signing.sign(keyId, entries);
        assertNoneEarly(signed);
        const retried = await db.asService(async (tx) => {
          const outcomes = await settle(tx, claimId, keyId, signed);
          if (outcomes !== undefined) await record(tx, entries, outcomes, operator);
          return outcomes;
        });
        if (retried !== undefined) return retried;
        await registry.refresh();
      }
    } catch (error) {
      const ids = entries.map(({ id }) => id);
      await db.asService((tx) => releaseLetters(tx, claimId, ids)).catch(() => undefined);
      if (!(error instanceof SignerRefused)) throw error;
      throw new AppError('signer_unavailable', { cause: error });
    }
  }

  /**
   * Stores seals and faults. Does nothing and returns undefined if the signing key is no longer
   * active.
   */
  async function settle(
    tx: Tx,
    claimId: string,
    keyId: string,
    { seals, faults }: Signed,
  ): Promise<RetriedEntry[] | undefined> {
    const stored = await storeSeals(tx, { keyId, seals }, { claimId });
    if (stored === undefined) return undefined;
    const letters = await recoverLetters(tx, stored, clock());
    const outcomes = letters.map(({ id, attempts }) => recovered(id, attempts));
    for (const { id, reason } of faults) {
      const attempts = await keepLetter(tx, claimId, { id, reason });
      if (attempts === undefined) continue;
      outcomes.push({ id, status: 'PENDING', attempts, lastError: reason });
    }
    return outcomes;
  }

  async function record(
    tx: Tx,
    entries: readonly ClaimedEntry[],
    outcomes: readonly RetriedEntry[],
    operator: Operator,
  ): Promise<void> {
    const outcomeOf = new Map(outcomes.map((outcome) => [outcome.id, outcome]));
    const events = entries.flatMap(({ id, ownerId: userId, tenantId }) => {
      const outcome = outcomeOf.get(id);
      return outcome === undefined ? [] : [retried(outcome, { userId, tenantId }, operator)];
    });
    audit.appendAll(tx, events);
  }

  async function retry(entryId: string, operator: Operator): Promise<RetriedEntry> {
    audit.assertWritable();
    const claimId = randomUUID();
    const letter = await db.asService(async (tx) => {
      const found = await lockLetter(tx, entryId, operator.reach);
      if (found.status === 'RECOVERED') return found;
      assertWaiting(found);
      return { ...found, entries: await lease(tx, claimId, [entryId]) };
    });
    if (!('entries' in letter)) return recovered(entryId, letter.attempts);
    const [outcome] = await sealAgain(claimId, letter.entries, operator);
    return outcome ?? retry(entryId, operator);
  }

  async function retryBatch(
    which: Omit<LetterChoice, 'reach'>,
    operator: Operator,
  ): Promise<RetriedBatch> {
    audit.assertWritable();
    const claimId = randomUUID();
    const { reach } = operator;
    const entries = await db.asService((tx) => claimLetters(tx, claimId, { ...which, reach }));
    const outcomes = await sealAgain(claimId, entries, operator);
    const succeeded = outcomes.filter(({ status }) => status === 'RECOVERED').length;
    return {
      processed: outcomes.length,
      succeeded,
      failed: outcomes.length - succeeded,
      remaining: await db.asService((tx) => countWaiting(tx, reach)),
    };
  }

  return {
    /**
     * Signs one dead entry again. Returns RECOVERED at once for an entry that was recovered before.
     * Entries out of the operator's reach do not exist for them, here and below. Throws not_found,
     * entry_not_dead, retry_in_progress, audit_backlog_full, signer_unavailable if the signer
     * refuses the entry, or SignerUnavailable if the signer cannot be used.
     */
    retry: (
      request: ServiceRequest<Caller | InternalCaller>,
      entryId: string,
      by?: string,
    ): Promise<RetriedEntry> => retry(entryId, operatorOf(request, by)),

    /**
     * Signs up to `limit` dead entries again: those with the fewest attempts first, then the
     * oldest. Throws audit_backlog_full, signer_unavailable or SignerUnavailable as `retry` does.
     */
    retryMany: (
      request: ServiceRequest<Caller | InternalCaller>,
      limit: number,
    ): Promise<RetriedBatch> => retryBatch({ limit }, operatorOf(request)),

    /**
     * Signs every entry that is in the queue at the start again, each once, in batches. Yields the
     * result of each batch.
     */
    async *retryAll(request: ServiceRequest<Caller | InternalCaller>): AsyncIterable<RetriedBatch> {
      const operator = operatorOf(request);
      const waiting = await db.asService(listWaiting);
      for (let next = 0; next < waiting.length; next += batchSize) {
        const among = waiting.slice(next, next + batchSize);
        yield await retryBatch({ limit: batchSize, among }, operator);
      }
    },
  };
}

/** Throws SignerUnavailable if entries wait until the signer's clock reaches their time. */
function assertNoneEarly({ early }: Signed): void {
  if (early.length > 0) throw new SignerUnavailable('clock_skew', earlyEntries);
}

function recovered(id: string, attempts: number): RetriedEntry {
  return { id, status: 'RECOVERED', attempts, lastError: null };
}

function retried(
  { id, status, attempts, lastError }: RetriedEntry,
  owner: Owner,
  { actor, requestId, by }: Operator,
): AuditEvent {
  return {
    action: 'audit.retried',
    actor,
    owner,
    ...(status === 'PENDING' ? { outcome: 'failure' as const } : {}),
    resource: { type: 'audit_entry', id },
    requestId,
    data: { status, attempts, lastError, by },
  };
}
