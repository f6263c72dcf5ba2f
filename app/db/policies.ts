import type { PolicyDef } from '@mikro-orm/core';

/** An unset variable is NULL or, after an earlier transaction of the connection, empty: no row. */
const isOwner =
  "user_id = nullif(current_setting('app.user_id', true), '')::uuid and tenant_id = current_setting('app.tenant_id', true)";

/** The row-level security of a table whose rows belong to one user of one tenant. */
export function ownedByUser(table: string): PolicyDef[] {
  return [
    { name: `${table}_owner`, roles: ['probatio_app'], using: isOwner, check: isOwner },
    servicePolicy(table),
  ];
}

/** A table that only the service login touches. */
export function ownedByService(table: string): PolicyDef[] {
  return [servicePolicy(table)];
}

export function servicePolicy(table: string): PolicyDef {
  return { name: `${table}_service`, roles: ['probatio_service'], using: 'true', check: 'true' };
}
