import canonicalize from 'canonicalize';
import type { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { beginWithin } from '../../../app/db/pool/limits.ts';
import { inventEntry } from '../harness/audit-entry.ts';
import type { Person } from './people.ts';

const begin = beginWithin({ statementMs: 7_000, idleMs: 30_000 });
const data = '{"a":1,"b":2}';

/** Sends the statements of one write as the service does, including its check of the device. */
export async function writeBare(client: Client, person: Person, objectId: string): Promise<void> {
  const { userId, deviceId, sessionId } = person;
  const query = (text: string, values: unknown[] = []) => client.query(text, values);
  await client.query(
    `${begin}; select set_config('app.user_id', '${userId}', true), ` +
      `set_config('app.tenant_id', 'default', true)`,
  );
  await query(
    `select device_id, last_used_at, revoked_at,
       (select device_id from login_sessions where id = $3 and user_id = $1) as bound_to
     from devices where user_id = $1 and tenant_id = 'default' and device_id = $2
     for no key update`,
    [userId, deviceId, sessionId],
  );
  const { rows } = await query(
    `select object_type, version, data, last_modified_at from sync_objects
     where user_id = $1 and tenant_id = 'default' and object_id = $2 for update`,
    [userId, objectId],
  );
  const version = (rows[0] as { readonly version: number }).version + 1;
  await query(
    `with next as (
       insert into sync_counters (user_id, tenant_id, last_change) values ($1, 'default', 1)
       on conflict (user_id, tenant_id) do update set last_change = sync_counters.last_change + 1
       returning last_change
     ), kept as (
       insert into sync_history (id, user_id, tenant_id, object_id, version, base_version, status,
         device_id, changed_at, changed_fields)
       values ($5, $1, 'default', $2, $3, $6, 'APPLIED', $7, now(), '["/a"]')
     )
     update sync_objects set version = $3, data = $4, deleted = false, last_modified_at = now(),
       change_seq = (select last_change from next)
     where user_id = $1 and tenant_id = 'default' and object_id = $2`,
    [userId, objectId, version, data, uuidv7(), version - 1, deviceId],
  );
  const entryId = uuidv7();
  const [head, tail] = entryAroundSeq(entryId, person, objectId, version);
  await query(
    `with next as (
       insert into audit_trails (user_id, tenant_id, resource_type, resource_id, last_seq)
       values ($1, 'default', 'sync_object', $2, 1)
       on conflict (user_id, tenant_id, resource_type, resource_id)
       do update set last_seq = audit_trails.last_seq + 1 returning id, last_seq
     )
     insert into audit_log (id, user_id, tenant_id, trail_id, seq, action, canonical)
     select $3, $1, 'default', id, last_seq, 'sync.changed', $4::text || last_seq || $5
     from next`,
    [userId, objectId, entryId, head, tail],
  );
  await query('commit');
}

/**
 * Returns an entry's text split around the value of `seq`. The sealer signs it as it signs the
 * entries of the HTTP writes.
 */
function entryAroundSeq(
  id: string,
  { userId, deviceId }: Person,
  objectId: string,
  version: number,
): string[] {
  const entry = inventEntry({
    id,
    userId,
    action: 'sync.changed',
    resource: { type: 'sync_object', id: objectId },
    seq: 0,
    data: { version, baseVersion: version - 1, deviceId, conflictType: null, ruleApplied: null },
  });
  return String(canonicalize(entry)).split(/(?<="seq":)0(?=,)/);
}
