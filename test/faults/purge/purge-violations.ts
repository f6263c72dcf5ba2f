const countOf = (name: string) => `coalesce((counts::json ->> '${name}')::int, 0)`;

/**
 * Queries that return what no purge may leave behind, wherever it was interrupted. Each must return
 * no rows.
 */
export const purgeViolations = {
  'an account without its registration': `
    select id from accounts where status = 'PENDING_VALIDATION' and not exists (
      select from registrations where account_id = accounts.id)`,
  'an existing account with an erased entry': `
    select id from audit_entries where canonical is null and exists (
      select from accounts where id = user_id)`,
  'an existing account without an entry': `
    select id from accounts where not exists (
      select from audit_entries where user_id = accounts.id)`,
  'a purged account with a readable entry': `
    select id from audit_entries where canonical is not null and action = 'account.registered'
    and not exists (select from accounts where id = user_id)`,
  'an e-mail to a purged account': `
    select id from outbox where user_id is not null and not exists (
      select from accounts where id = user_id)`,
  'an erased entry without hash or signature': `
    select id from audit_entries where canonical is null and (hash is null or signature is null)`,
  'a run whose counts differ from its entries': `
    select id from maintenance_runs r where
      (${countOf('purgedAccounts')}, ${countOf('removedAuditTraces')},
        ${countOf('removedEmails')}) <> (
        select coalesce(sum((data->>'purgedAccounts')::int), 0),
          coalesce(sum((data->>'removedAuditTraces')::int), 0),
          coalesce(sum((data->>'removedEmails')::int), 0)
        from audit_entries e, lateral (select canonical::json->'data' as data) d
        where action = 'account.purged' and resource_id = r.id::text)`,
  'counts that differ from the erased entries': `
    select erased, counted from
      (select count(*) as erased, count(distinct user_id) as accounts
        from audit_entries where canonical is null) e,
      (select coalesce(sum(${countOf('removedAuditTraces')}), 0) as counted,
        coalesce(sum(${countOf('purgedAccounts')}), 0) as purged from maintenance_runs) r
    where erased <> counted or accounts <> purged`,
  'a gap in the numbers of a resource': `
    select trail_id from audit_trails left join audit_log on trail_id = audit_trails.id
    group by trail_id, last_seq
    having min(seq) <> 1 or max(seq) <> last_seq or count(seq) <> last_seq`,
};
