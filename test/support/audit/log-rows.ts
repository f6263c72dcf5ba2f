/**
 * Returns SQL that appends entries to the log and to their trails, in numbers or forms in which the
 * app never appends them.
 * @param rows SQL of the entries: id, user, tenant, type and id of the resource, number, action and
 *   text.
 */
export function appending(rows: string): string {
  return `with entry (id, user_id, tenant_id, resource_type, resource_id, seq, action, canonical)
    as (${rows}),
  trail as (
    insert into audit_trails (user_id, tenant_id, resource_type, resource_id, last_seq)
    select user_id::uuid, tenant_id, resource_type, resource_id::text, max(seq::bigint) from entry
    group by 1, 2, 3, 4
    on conflict (user_id, tenant_id, resource_type, resource_id)
      do update set last_seq = greatest(audit_trails.last_seq, excluded.last_seq)
    returning id, user_id, tenant_id, resource_type, resource_id
  )
  insert into audit_log (id, user_id, tenant_id, trail_id, seq, action, canonical)
  select e.id::uuid, t.user_id, t.tenant_id, t.id, e.seq::bigint, e.action, e.canonical
  from entry e join trail t on (t.user_id, t.tenant_id, t.resource_type, t.resource_id)
    = (e.user_id::uuid, e.tenant_id, e.resource_type, e.resource_id::text)`;
}
