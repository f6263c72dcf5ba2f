/**
 * Queries for violations about keys and the log as a whole, in addition to `violations`. Each must
 * return no rows, whatever was killed.
 */
export const auditViolations = {
  'an entry whose text differs from its row': `
    select id from audit_entries e, lateral (select canonical::json as text) c
    where (text->>'id', text->>'action', text->'resource'->>'id', (text->>'seq')::bigint)
      is distinct from (e.id::text, e.action, e.resource_id, e.seq)`,
  'an entry that a key signed while it was not active': `
    select id from audit_entries e left join signing_keys k on k.key_id = e.key_id
    where k.purpose is distinct from 'audit' or k.activated_at is null
      or e.sealed_at < k.activated_at or e.sealed_at > k.retired_at`,
  'an entry with a failed attempt': 'select entry_id from audit_queue where attempts > 0',
  'an entry that is sealed and waits': `
    select entry_id from audit_queue join audit_seals using (entry_id)`,
  'an entry that neither waits, nor is sealed or dead': `
    select id from audit_log l where not exists (select from audit_queue where entry_id = l.id)
      and not exists (select from audit_seals where entry_id = l.id)
      and not exists (select from audit_dead_letters where entry_id = l.id)`,
  'a key without exactly one entry of its creation': `
    select key_id from signing_keys k where 1 <> (
      select count(*) from audit_entries where action = 'key.created' and resource_id = k.key_id)`,
  'a rotated key without exactly one entry of its activation': `
    select key_id from signing_keys k where generation > 1 and state <> 'CREATED' and 1 <> (
      select count(*) from audit_entries
      where action = 'key.activated' and resource_id = k.key_id)`,
  'a retired key without exactly one entry of its retirement': `
    select key_id from signing_keys k where state = 'RETIRED' and 1 <> (
      select count(*) from audit_entries where action = 'key.retired' and resource_id = k.key_id)`,
  'a login without an entry': `
    select id from login_sessions s where not exists (
      select from audit_entries where action = 'auth.login' and resource_id = s.id::text)`,
  'entries that are counted twice or never': `
    select counted, sealed from
      (select coalesce(sum(sealed), 0) as counted from audit_totals) c,
      (select count(*) as sealed from audit_entries where state = 'SEALED') s
    where counted <> sealed`,
};

/** The rows that each action must have left one entry for. */
export const committedRows = {
  'account.activated': `accounts where status = 'ACTIVE'`,
  'auth.login': 'login_sessions',
  'document.created': 'documents',
  'document.sealed': `document_versions where status = 'SEALED'`,
  'envelope.created': 'key_envelopes',
  'key.activated': `signing_keys where generation > 1 and state <> 'CREATED'`,
  'key.created': 'signing_keys',
  'key.retired': `signing_keys where state = 'RETIRED'`,
  'upload.completed': `upload_sessions where status = 'COMPLETED'`,
  'upload.created': 'upload_sessions',
};
