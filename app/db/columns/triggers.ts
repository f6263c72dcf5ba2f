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

/** Returns the trigger that keeps the ids of removed rows. */
export function keepsRemoved(table: string): TriggerDef {
  return {
    name: 'id_kept',
    timing: 'after',
    events: ['delete'],
    expression:
      `create trigger id_kept after delete on ${table} for each row ` +
      'execute function keep_document_id()',
  };
}

/** Returns the trigger that queues the stored object of each version that is sealed for checks. */
export function queuesCheck(table: string): TriggerDef {
  return {
    name: 'check_queued',
    timing: 'after',
    events: ['insert', 'update'],
    expression:
      `create trigger check_queued after insert or update of status on ${table} for each row ` +
      "when (new.status = 'SEALED') execute function queue_object_check()",
  };
}

/**
 * Returns the trigger that lets no login write a row unencrypted, or one encrypted that should not
 * be. `isPlain` is the SQL condition, on `new`, of the rows that are not encrypted.
 */
export function encrypts(table: string, isPlain: string): TriggerDef {
  return {
    name: 'encrypted',
    timing: 'before',
    events: ['insert', 'update'],
    expression: [
      `create trigger encrypted before insert or update on ${table} for each row`,
      `when (current_setting('is_superuser') = 'off'`,
      `and (new.key_generation is null) <> (${isPlain}))`,
      'execute function refuse_change()',
    ].join(' '),
  };
}

/** Returns the trigger that queues each appended entry for its signature. */
export function queuesEntry(table: string): TriggerDef {
  return {
    name: 'queued',
    timing: 'after',
    events: ['insert'],
    expression:
      `create trigger queued after insert on ${table} for each row ` +
      'execute function queue_audit_entry()',
  };
}

/** Returns the trigger that refuses to erase the text of an entry that may still be sealed. */
export function refusesErasure(table: string): TriggerDef {
  return {
    name: 'unsealed',
    timing: 'before',
    events: ['update'],
    expression:
      `create trigger unsealed before update on ${table} for each row ` +
      'when (new.canonical is null and old.canonical is not null) ' +
      'execute function refuse_unsealed_erasure()',
  };
}
