import type { TriggerDef } from '@mikro-orm/core';

interface Refusal {
  readonly name: string;
  readonly event: 'update' | 'delete';
  /** The SQL condition, on `old` and `new`, of the changes that are refused. */
  readonly when: string;
}

/**
 * Returns a trigger that refuses changes of rows with SQLSTATE 42501 (insufficient privilege). It
 * binds both logins, also where a foreign key carries out the change, and spares superusers.
 */
export function refuses(table: string, { name, event, when }: Refusal): TriggerDef {
  return {
    name,
    timing: 'before',
    events: [event],
    expression: [
      `create trigger ${name} before ${event} on ${table} for each row`,
      `when (current_setting('is_superuser') = 'off' and ${when})`,
      'execute function refuse_change()',
    ].join(' '),
  };
}
