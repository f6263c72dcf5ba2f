/** As `violations`, of keys and of the log as a whole, whatever was killed meanwhile. */
export const auditViolations = {
  'an entry whose text is not of its row': `
    select id from audit_entries e, lateral (select canonical::json as text) c
    where (text->>'id', text->>'action', text->'resource'->>'id', (text->>'seq')::bigint)
      is distinct from (e.id::text, e.action, e.resource_id, e.seq)`,
  'an entry that a key signed outside of its time': `
    select id from audit_entries e left join signing_keys k on k.key_id = e.key_id
    where k.purpose is distinct from 'audit' or k.activated_at is null
      or e.sealed_at < k.activated_at or e.sealed_at > k.retired_at`,
  'an entry that used up an attempt': 'select id from audit_entries where attempts > 0',
  'a key without its entry, or with two': `
    select key_id from signing_keys k where 1 <> (
      select count(*) from audit_entries where action = 'key.created' and resource_id = k.key_id)`,
  'a rotated key that was not activated once': `
    select key_id from signing_keys k where generation > 1 and state <> 'CREATED' and 1 <> (
      select count(*) from audit_entries where action = 'key.activated' and resource_id = k.key_id)`,
  'a retired key that was not retired once': `
    select key_id from signing_keys k where state = 'RETIRED' and 1 <> (
      select count(*) from audit_entries where action = 'key.retired' and resource_id = k.key_id)`,
  'a login without its entry': `
    select id from login_sessions s where not exists (
      select from audit_entries where action = 'auth.login' and resource_id = s.id::text)`,
  'entries that are counted twice or never': `
    select counted, sealed from
      (select coalesce(sum(sealed), 0) as counted from audit_totals) c,
      (select count(*) as sealed from audit_entries where state = 'SEALED') s
    where counted <> sealed`,
};

/** How many entries each action must have left. */
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
