import type { Kysely } from 'kysely';
import type { Schema } from './schema.ts';

type Tx = Kysely<Schema>;

/**
 * The order in which a transaction takes its locks. Transactions that take their locks in this
 * order cannot deadlock. Several locks of one kind are taken in the order of their ids. After all
 * of them, the commit itself locks rows of `usage`, in the order of their owners.
 */
const lockOrder = [
  'account',
  'mfa user',
  'master envelope',
  'device count',
  'device',
  'envelope',
  'replaced key',
  'login session',
  'document',
  'share',
  'share recipient',
  'sharing key',
  'sender blocks',
  'memory',
  'object check',
  'upload session',
  'sync request',
  'sync object',
  'signing keys',
  'restoration',
  'dead letter',
  'job',
  'log check',
  'audit trail',
  'maintenance run',
  'maintenance task',
] as const;

export type LockKind = (typeof lockOrder)[number];

/** The kinds of locks that each watched transaction holds. */
const kindsHeld = new WeakMap<Tx, Set<LockKind>>();

/** Starts to check the order in which a transaction takes its locks. Not called in production. */
export function watchLocks(tx: Tx): void {
  kindsHeld.set(tx, new Set());
}

/**
 * States that the transaction is about to take a lock of this kind. Call it in every function that
 * locks rows or names. Throws for a transaction under `watchLocks` that holds a lock of a later
 * kind but none of this kind.
 */
export function takesLock(tx: Tx, kind: LockKind): void {
  const held = kindsHeld.get(tx);
  if (held === undefined || held.has(kind)) return;
  const later = [...held].find((other) => lockOrder.indexOf(other) > lockOrder.indexOf(kind));
  if (later !== undefined) {
    throw new Error(`a lock of kind '${kind}' is taken after '${later}': see app/db/lock-order.ts`);
  }
  held.add(kind);
}
