import type { PolicyDef } from '@mikro-orm/core';

/** The caller's user id. An unset variable is NULL, or empty after an earlier transaction. */
export const callerId = "nullif(current_setting('app.user_id', true), '')::uuid";
export const callerTenant = "current_setting('app.tenant_id', true)";

const isOwner = `user_id = ${callerId} and tenant_id = ${callerTenant}`;

/** Returns the policies of a table whose rows belong to one user of one tenant. */
export function ownedByUser(table: string): PolicyDef[] {
  return ownerPolicies(table, isOwner);
}

/**
 * Returns the policies of a user's rows that refer to a row of `parent`, which must belong to the
 * same user. Foreign keys do not ensure the same owner, since Postgres checks them regardless of
 * row-level security.
 */
export function ownedUnder(table: string, column: string, parent: string): PolicyDef[] {
  return ownerPolicies(table, `${isOwner} and ${isUnderOwn(table, column, parent)}`);
}

/**
 * Returns policies like those of ownedUnder, for a table that the policies of `parent` query.
 * Postgres reports infinite recursion for any policy that also covers reads and holds a subquery,
 * even in its check. So the check is a policy of its own, for writes only.
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

/**
 * Returns the policy that lets the app login insert only rows that meet the condition, beside the
 * conditions of the other policies.
 */
export function onlyInserts(table: string, check: string): PolicyDef {
  const name = `${table}_insert`;
  return { name, type: 'restrictive', command: 'insert', roles: ['probatio_app'], check };
}

function isUnderOwn(table: string, column: string, parent: string): string {
  const isParent = `${parent}.id = ${table}.${column}`;
  const isSameUser = `${parent}.user_id = ${table}.user_id`;
  return `exists (select 1 from ${parent} where ${isParent} and ${isSameUser})`;
}

function ownerPolicies(table: string, check: string): PolicyDef[] {
  return [
    { name: `${table}_owner`, roles: ['probatio_app'], using: isOwner, check },
    servicePolicy(table),
  ];
}

/**
 * Returns the policy that lets users read the rows that refer to a row of `parent` which they may
 * read.
 */
export function readUnder(table: string, column: string, parent: string): PolicyDef {
  const using = `exists (select 1 from ${parent} where ${parent}.id = ${table}.${column})`;
  return { name: `${table}_read`, command: 'select', roles: ['probatio_app'], using };
}

/** Returns the policies of a table that only the service login may use. */
export function ownedByService(table: string): PolicyDef[] {
  return [servicePolicy(table)];
}

/** Returns the policy of rows that belong to no user and that every user may read. */
export function shownToAll(table: string): PolicyDef {
  return { name: `${table}_shown`, command: 'select', roles: ['probatio_app'], using: 'true' };
}

/** Returns the policy that lets every user insert rows, which belong to no user. */
export function insertedByAll(table: string): PolicyDef {
  return { name: `${table}_insert`, command: 'insert', roles: ['probatio_app'], check: 'true' };
}

/** Returns the policy that lets the service login read and write all rows of a table. */
export function servicePolicy(table: string): PolicyDef {
  return { name: `${table}_service`, roles: ['probatio_service'], using: 'true', check: 'true' };
}

/**
 * Returns the SQL condition that a share is unexpired, is with the caller and is in the caller's
 * tenant.
 */
export function isRecipient(table: string): string {
  return [
    `${table}.recipient_user_id = ${callerId}`,
    `${table}.tenant_id = ${callerTenant}`,
    `(${table}.expires_at is null or ${table}.expires_at > now())`,
  ].join(' and ');
}

/**
 * Returns the policy that lets a recipient read the rows of a document that is shared by a sender
 * whom the recipient does not block, with `version` only those of a version that is shared. The
 * policy cannot recurse: the policies for reading document_shares and sender_blocks query no other
 * table. Postgres tries the permissive policies of a table in the reverse order of their names, so
 * this name comes before that of the owner's policy: no share is looked up for one's own rows.
 */
export function sharedWithCaller(table: string, column: string, version?: string): PolicyDef {
  const isOfVersion = `document_shares.version = ${table}.${version}`;
  const conditions = [
    `document_shares.document_id = ${table}.${column}`,
    ...(version === undefined ? [] : [`(document_shares.version is null or ${isOfVersion})`]),
    isRecipient('document_shares'),
  ];
  const isReceived = conditions.join(' and ');
  const isShared = `exists (select 1 from document_shares where ${isReceived} and ${isNotBlocked})`;
  const name = `${table}_by_share`;
  return { name, command: 'select', roles: ['probatio_app'], using: isShared };
}

/** The SQL condition that the recipient of a row of document_shares does not block its sender. */
const isNotBlocked = `not exists (select 1 from sender_blocks where ${[
  'sender_blocks.user_id = document_shares.recipient_user_id',
  'sender_blocks.tenant_id = document_shares.tenant_id',
  'sender_blocks.sender_id = document_shares.user_id',
].join(' and ')})`;
