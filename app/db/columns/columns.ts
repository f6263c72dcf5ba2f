import { p } from '@mikro-orm/core';

/** Column kinds every entity uses alike. */

export function createdAt() {
  return p.datetime().columnType('timestamptz(3)').defaultRaw('now()');
}

export function timestamp() {
  return p.datetime().columnType('timestamptz(3)');
}

/** Columns of a table with a row-level security policy by owner. */
export function owner() {
  return { userId: p.uuid(), tenantId: p.text() };
}
