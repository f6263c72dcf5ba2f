import { defineEntity, p } from '@mikro-orm/core';
import { insertedAt, timestamp } from '../../columns/columns.ts';
import { onlyInserts, ownedByUser, readUnder, servicePolicy } from '../../columns/policies.ts';
import { queuesEntry, refuses, refusesErasure } from '../../columns/triggers.ts';

/**
 * The append-only log: an audited event, whose `canonical` text is the evidence itself; the other
 * columns serve to find and verify entries. A trigger queues each entry for its signature. No login
 * changes or removes an entry, except that the purge erases the text of a sealed or abandoned one.
 * It is partitioned by the months of the ids: a number is unique within the partition, and its
 * trail gives it out only once.
 */
export const AuditLog = defineEntity({
  name: 'AuditLog',
  tableName: 'audit_log',
  rowLevelSecurity: 'force',
  policies: [
    ...ownedByUser('audit_log'),
    // Entries of signing keys and marks are the service's: no request of a user causes one.
    onlyInserts('audit_log', "not starts_with(action, 'key.') and action <> 'vault.marked'"),
  ],
  triggers: [
    queuesEntry('audit_log'),
    refuses('audit_log', {
      name: 'kept',
      event: 'update',
      when:
        '(row(new.id, new.user_id, new.tenant_id, new.trail_id, new.seq, new.action, ' +
        'new.created_at) is distinct from row(old.id, old.user_id, old.tenant_id, ' +
        'old.trail_id, old.seq, old.action, old.created_at) ' +
        'or new.canonical is not null and new.canonical is distinct from old.canonical)',
    }),
    refusesErasure('audit_log'),
  ],
  indexes: [
    { name: 'audit_log_owner', properties: ['userId', 'tenantId', 'id'] },
    { name: 'audit_log_tenant', properties: ['tenantId', 'id'] },
    { name: 'audit_log_trail', properties: ['trailId', 'id'] },
  ],
  checks: [
    {
      name: 'audit_log_erased',
      expression: '(canonical is null) = (erased_at is not null)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    /** Owner of the resource; the nil UUID if it belongs to no user. */
    userId: p.uuid(),
    tenantId: p.text(),
    trailId: p.bigint('number'),
    seq: p.bigint('number'),
    action: p.text(),
    /**
     * RFC 8785 text as it was appended: the signed text has the members of the seal too. Null once
     * erased; the seal stays.
     */
    canonical: p.text().nullable(),
    /** By the clock of the database: neither login can set it. */
    createdAt: insertedAt(),
    erasedAt: timestamp().nullable(),
  },
});

/**
 * The seals of entries: what the signer added to the text, the hash of both, and the signature. The
 * sealer adds one for each entry, and no login changes or removes it. They are partitioned as the
 * log is, by the ids of their entries.
 */
export const AuditSeal = defineEntity({
  name: 'AuditSeal',
  tableName: 'audit_seals',
  rowLevelSecurity: 'force',
  policies: [readUnder('audit_seals', 'entry_id', 'audit_log'), servicePolicy('audit_seals')],
  properties: {
    entryId: p.uuid().primary(),
    /** SHA3-256 of the sealed text. */
    hash: p.blob(),
    /** DER of the ECDSA signature. */
    signature: p.blob(),
    /** The id of the signing key: the first bytes of the SHA-256 of its SPKI DER. */
    keyId: p.blob(),
    /** The member `sealedAt`, which the signer added. */
    sealedAt: timestamp(),
    /** The member `late`, which the signer added. */
    late: p.boolean(),
  },
});

/** Selects the entries of the log with their trails, seals and states. */
const entriesSql = `
select l.id, l.user_id, l.tenant_id, l.trail_id, t.resource_type, t.resource_id, l.seq, l.action,
  l.canonical, l.created_at, l.erased_at,
  case when s.entry_id is not null then 'SEALED'
    when d.status = 'PENDING' then 'DEAD'
    when d.status = 'ABANDONED' then 'ABANDONED'
    else 'PENDING' end as state,
  encode(s.hash, 'hex') as hash,
  translate(encode(s.signature, 'base64'), chr(10), '') as signature,
  encode(s.key_id, 'hex') as key_id,
  s.sealed_at, coalesce(s.late, false) as late
from audit_log l
left join audit_trails t on t.id = l.trail_id
left join audit_seals s on s.entry_id = l.id
left join audit_dead_letters d on d.entry_id = l.id`;

/**
 * State of an audit entry. PENDING: waits for its signature. DEAD: in the dead-letter queue.
 * ABANDONED: never to be signed, as a signed tombstone records.
 */
type EntryState = 'PENDING' | 'SEALED' | 'DEAD' | 'ABANDONED';

/**
 * The view of entries with their seals and states, for whoever may read them: each login sees in it
 * the rows that the policies of its tables show to this login.
 */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_entries',
  view: true,
  expression: entriesSql,
  properties: {
    id: p.uuid().primary(),
    userId: p.uuid(),
    tenantId: p.text(),
    trailId: p.bigint('number'),
    /** Null if the trail is missing, which no login can remove. */
    resourceType: p.text().nullable(),
    /** Null if the trail is missing. */
    resourceId: p.text().nullable(),
    seq: p.bigint('number'),
    action: p.text(),
    canonical: p.text().nullable(),
    createdAt: timestamp(),
    erasedAt: timestamp().nullable(),
    state: p.text().$type<EntryState>(),
    /** Hex. */
    hash: p.text().nullable(),
    /** Base64. */
    signature: p.text().nullable(),
    /** Hex. */
    keyId: p.text().nullable(),
    sealedAt: timestamp().nullable(),
    late: p.boolean(),
  },
});

/**
 * The resources that entries are about, with the last `seq` of each. Every append locks the row, so
 * that numbers have no gaps. The numbers never decrease, and the app login counts from 1 in steps
 * of 1. Rows stay when the entries are erased.
 */
export const AuditTrail = defineEntity({
  name: 'AuditTrail',
  tableName: 'audit_trails',
  rowLevelSecurity: 'force',
  policies: [...ownedByUser('audit_trails'), onlyInserts('audit_trails', 'last_seq = 1')],
  indexes: [{ name: 'audit_trails_resource', properties: ['resourceId'] }],
  uniques: [
    {
      name: 'audit_trails_key',
      properties: ['userId', 'tenantId', 'resourceType', 'resourceId'],
    },
  ],
  triggers: [
    refuses('audit_trails', {
      name: 'forward',
      event: 'update',
      when:
        '(row(new.id, new.user_id, new.tenant_id, new.resource_type, new.resource_id) ' +
        'is distinct from ' +
        'row(old.id, old.user_id, old.tenant_id, old.resource_type, old.resource_id) ' +
        'or new.last_seq < old.last_seq or new.last_seq <> old.last_seq + 1 ' +
        "and not pg_has_role(session_user, 'probatio_service', 'usage'))",
    }),
  ],
  properties: {
    /** The short key by which entries name their resource. */
    id: p.bigint('number').primary().autoincrement().generated('by default as identity'),
    userId: p.uuid(),
    tenantId: p.text(),
    resourceType: p.text(),
    resourceId: p.text(),
    lastSeq: p.bigint('number'),
  },
});
