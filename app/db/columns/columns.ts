import { p } from '@mikro-orm/core';

/** Returns a column that defaults to the start of the transaction, with millisecond precision. */
export function createdAt() {
  return p.datetime().columnType('timestamptz(3)').defaultRaw('now()');
}

/** Returns a column that defaults to the time of the insertion, with millisecond precision. */
export function insertedAt() {
  return p.datetime().columnType('timestamptz(3)').defaultRaw('clock_timestamp()');
}

export function timestamp() {
  return p.datetime().columnType('timestamptz(3)');
}

/** Returns the columns that the row-level security policy by owner reads. */
export function owner() {
  return { userId: p.uuid(), tenantId: p.text() };
}

/**
 * Returns the column with the generation of the key that encrypts values of the row; null if they
 * are not encrypted.
 */
export function keyGeneration() {
  return p.integer().nullable();
}
