import { p } from '@mikro-orm/core';

/** Returns a column that defaults to the start of the transaction, with millisecond precision. */
export function createdAt() {
  return p.datetime().columnType('timestamptz(3)').defaultRaw('now()');
}

export function timestamp() {
  return p.datetime().columnType('timestamptz(3)');
}

/** Returns the columns that the row-level security policy by owner reads. */
export function owner() {
  return { userId: p.uuid(), tenantId: p.text() };
}
