import type { PolicyDef } from '@mikro-orm/core';

/** An unset variable is NULL or, after an earlier transaction of the connection, empty: no row. */
const isOwner =
  "user_id = nullif(current_setting('app.user_id', true), '')::uuid and tenant_id = current_setting('app.tenant_id', true)";

/** The row-level security of a table whose rows belong to one user of one tenant. */
export function ownedByUser(table: string): PolicyDef[] {
  return ownerPolicies(table, isOwner);
}

/**
 * The same for rows that hang under a row of `parent`: that one must be the user's too. Foreign keys
 * alone do not say so, since Postgres checks them with all rows in view.
 */
export function ownedUnder(table: string, column: string, parent: string): PolicyDef[] {
  return ownerPolicies(table, `${isOwner} and ${isUnderOwn(table, column, parent)}`);
}

/**
 * The same for a table that the policies of `parent` look at in their turn. There Postgres takes any
 * policy for reading that holds a subquery for a recursion, even where the subquery is its check; so
 * the check is a policy of its own, for writing alone.
 */
export function writtenUnder(table: string, column: string, parent: string): PolicyDef[] {
  const check = isUnderOwn(table, column, parent);
  const restrictive = { type: 'restrictive' as const, roles: ['probatio_app'], check };
  return [
    ...ownedByUser(table),
    { ...restrictive, name: `${table}_insert`, command: 'insert' },
    { ...restrictive, name: `${table}_update`, command: 'update' },
  ];
}

function isUnderOwn(table: string, column: string, parent: string): string {
  return `exists (select 1 from ${parent} where ${parent}.id = ${table}.${column} and ${parent}.user_id = ${table}.user_id)`;
}

function ownerPolicies(table: string, check: string): PolicyDef[] {
  return [
    { name: `${table}_owner`, roles: ['probatio_app'], using: isOwner, check },
    servicePolicy(table),
  ];
}

/** A table that only the service login touches. */
export function ownedByService(table: string): PolicyDef[] {
  return [servicePolicy(table)];
}

/** Rows that are nobody's, and that every user may read. */
export function shownToAll(table: string): PolicyDef {
  return { name: `${table}_shown`, command: 'select', roles: ['probatio_app'], using: 'true' };
}

export function servicePolicy(table: string): PolicyDef {
  return { name: `${table}_service`, roles: ['probatio_service'], using: 'true', check: 'true' };
}

/** The condition of shares that name the caller, in the same tenant, until they end. */
export function isRecipient(table: string): string {
  return `${table}.recipient_user_id = nullif(current_setting('app.user_id', true), '')::uuid and ${table}.tenant_id = current_setting('app.tenant_id', true) and (${table}.expires_at is null or ${table}.expires_at > now())`;
}

/**
 * Lets rows of a document that is shared with the caller be read. It does not recur: the policies for
 * reading document_shares look at nothing else.
 */
export function sharedWithCaller(table: string, column: string): PolicyDef {
  const isShared = `exists (select 1 from document_shares where document_shares.document_id = ${table}.${column} and ${isRecipient('document_shares')})`;
  return { name: `${table}_shared`, command: 'select', roles: ['probatio_app'], using: isShared };
}
