import type { PolicyDef } from '@mikro-orm/core';
import { nameRoles, type DatabaseRoles } from '../columns/roles.ts';
import { entities } from '../schema.ts';
import type { PolicyFacts } from './table-facts.ts';

/** A table or view as the code describes it. */
export interface ExpectedTable {
  readonly name: string;
  readonly isView: boolean;
  /** Whether row-level security also binds the owner. */
  readonly isForced: boolean;
  readonly policies: readonly PolicyFacts[];
  readonly triggers: readonly string[];
}

/** Returns the tables and views that the entities describe, with policies for the given roles. */
export function expectTables(roles: DatabaseRoles): readonly ExpectedTable[] {
  return entities.map(({ meta }) => ({
    name: meta.tableName,
    isView: meta.view === true,
    isForced: meta.rowLevelSecurity === 'force',
    policies: meta.policies.map((policy) => toFacts(policy, roles)),
    triggers: meta.triggers.map(({ name = '' }) => name),
  }));
}

function toFacts(policy: PolicyDef, roles: DatabaseRoles): PolicyFacts {
  const { name = '', command = 'all', type = 'permissive' } = policy;
  const textOf = (expression: PolicyDef['using']) =>
    typeof expression === 'string' ? nameRoles(expression, roles) : null;
  return {
    name,
    command,
    isRestrictive: type === 'restrictive',
    roles: (policy.roles ?? []).map((role) => nameRoles(role, roles)),
    using: textOf(policy.using),
    check: textOf(policy.check),
  };
}

/** Returns the names of the views, and of the tables that some policy opens to the role. */
export function tablesOf(tables: readonly ExpectedTable[], role: string): readonly string[] {
  return tables
    .filter(({ isView, policies }) => isView || policies.some(({ roles }) => roles.includes(role)))
    .map(({ name }) => name);
}
