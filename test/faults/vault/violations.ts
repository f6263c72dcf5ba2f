/**
 * Queries that return what must not be in the database once every action is over and sealed. Each
 * must return no rows.
 */
export const violations = {
  'an entry that is not sealed': `
    select id from audit_entries where state <> 'SEALED' or signature is null`,
  'an entry in the dead-letter queue': 'select entry_id from audit_dead_letters',
  'a gap in the numbers of a resource': `
    select trail_id from audit_entries
    group by trail_id
    having min(seq) <> 1 or max(seq) <> count(*)`,
  'a number that was assigned and not used': `
    select id from audit_trails
    where last_seq <> (select count(*) from audit_log where trail_id = audit_trails.id)`,
  'an action recorded twice': `
    select resource_id, action from audit_entries
    where action not in ('account.registered', 'auth.refreshed', 'document.version_added',
      'document.metadata_changed', 'document.sealed', 'document.expired', 'document.fixity_failed',
      'document.downloaded', 'document.exported', 'internal_key.used', 'internal_keys.configured',
      'maintenance.ran', 'audit.read', 'auth.login_failed', 'sync.changed')
    group by user_id, resource_type, resource_id, action having count(*) > 1`,
  'an upload without an entry': `
    select id from upload_sessions s where not exists (
      select from audit_entries where action = 'upload.created' and resource_id = s.id::text)`,
  'a completed upload without an entry, or an entry without a completion': `
    select id from upload_sessions s where (status = 'COMPLETED') <> exists (
      select from audit_entries where action = 'upload.completed' and resource_id = s.id::text)`,
  'a document without an entry': `
    select id from documents d where not exists (
      select from audit_entries where action = 'document.created' and resource_id = d.id::text)`,
  'an entry of a document that does not exist': `
    select resource_id from audit_entries where action = 'document.created' and not exists (
      select from documents where id::text = resource_id)`,
  'a document whose current version is not its newest': `
    select id from documents d where version is distinct from (
      select max(version) from document_versions v where v.document_id = d.id)`,
  'a version without an entry': `
    select document_id, version from document_versions v where not exists (
      select from audit_entries e where e.resource_id = v.document_id::text and case
        when v.version = 1 then action = 'document.created'
        else action = 'document.version_added'
          and (canonical::json -> 'data' ->> 'version')::int = v.version end)`,
  'a sealed version without a proof': `
    select document_id, version from document_versions v where status = 'SEALED' and not exists (
      select from audit_entries e
      where action = 'document.sealed' and resource_id = v.document_id::text
        and e.id = v.proof_id)`,
  'a proof of a version that is not sealed': `
    select id from audit_entries e where action = 'document.sealed' and not exists (
      select from document_versions v where v.proof_id = e.id)`,
  'an active account without an entry, or an entry without one': `
    select id from accounts a where (status = 'ACTIVE') <> exists (
      select from audit_entries where action = 'account.activated' and resource_id = a.id::text)`,
  'an envelope without an entry': `
    select id from key_envelopes k where not exists (
      select from audit_entries where action = 'envelope.created' and resource_id = k.id::text)`,
};
