/** The SQL condition that a row of `audit_log` is of the trail of the resource `$1`. */
export const isOfTrail = 'trail_id = (select id from audit_trails where resource_id = $1)';

/** Damages to the trail of a resource with three entries, and the defect by number. */
export const damages: Readonly<Record<string, readonly [statement: string, defects: object]>> = {
  'a changed text': [
    `update audit_log set canonical = replace(canonical, '"fileSize":1', '"fileSize":2')
     where ${isOfTrail} and seq = 2`,
    { 2: 'hash_mismatch' },
  ],
  'a changed text with its hash': [
    `update audit_seals set hash = sha256('')
     where entry_id = (select id from audit_log where ${isOfTrail} and seq = 2)`,
    { 2: 'hash_mismatch' },
  ],
  'a changed signature': [
    `update audit_seals set signature = (
       select signature from audit_seals join audit_log on id = entry_id
       where ${isOfTrail} and seq = 1)
     where entry_id = (select id from audit_log where ${isOfTrail} and seq = 2)`,
    { 2: 'signature_invalid' },
  ],
  'an unknown key': [
    `update audit_seals set key_id = decode(repeat('0', 32), 'hex')
     where entry_id = (select id from audit_log where ${isOfTrail} and seq = 3)`,
    { 3: 'key_id_mismatch' },
  ],
  'a changed time of the seal': [
    `update audit_seals set sealed_at = sealed_at + interval '1 second'
     where entry_id = (select id from audit_log where ${isOfTrail} and seq = 3)`,
    { 3: 'hash_mismatch' },
  ],
  'a row that says another action': [
    `update audit_log set action = 'upload.aborted' where ${isOfTrail} and seq = 3`,
    { 3: 'row_mismatch' },
  ],
  'a row of another time': [
    `update audit_log set created_at = created_at - interval '1 hour'
     where ${isOfTrail} and seq = 3`,
    { 3: 'row_mismatch' },
  ],
  'entries that changed their numbers': [
    `update audit_log set seq = case seq when 2 then 7 else seq end
     where ${isOfTrail}`,
    { 2: 'missing', 6: 'missing', 7: 'row_mismatch' },
  ],
  'no first entry': [`delete from audit_log where ${isOfTrail} and seq = 1`, { 1: 'missing' }],
  'no second entry': [`delete from audit_log where ${isOfTrail} and seq = 2`, { 2: 'missing' }],
  'no last entry': [`delete from audit_log where ${isOfTrail} and seq = 3`, { 3: 'missing' }],
  'no entry at all': [`delete from audit_log where ${isOfTrail}`, { 3: 'missing' }],
};
