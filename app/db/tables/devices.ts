import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import { ownedByUser } from '../columns/policies.ts';
import { refuses } from '../columns/triggers.ts';

/**
 * A device of a user, under an id that the device chose. A revoked device stays revoked, so that
 * its id is never used again.
 */
export const Device = defineEntity({
  name: 'Device',
  tableName: 'devices',
  rowLevelSecurity: 'force',
  policies: ownedByUser('devices'),
  triggers: [
    refuses('devices', {
      name: 'revoked',
      event: 'update',
      when:
        '(row(new.user_id, new.tenant_id, new.device_id) is distinct from ' +
        'row(old.user_id, old.tenant_id, old.device_id) ' +
        'or old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)',
    }),
  ],
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    deviceId: p.uuid().primary(),
    /** Name and platform in base64, encrypted by the client. */
    encryptedInfo: p.text().nullable(),
    /** Version of `encryptedInfo`, for If-Match. */
    version: p.integer().default(1),
    createdAt: createdAt(),
    lastUsedAt: timestamp().nullable(),
    revokedAt: timestamp().nullable(),
    revokeReason: p.text().nullable(),
  },
});

/**
 * The device to which a session of another issuer is bound. Such a session has no row in
 * login_sessions.
 */
export const SessionDevice = defineEntity({
  name: 'SessionDevice',
  tableName: 'session_devices',
  rowLevelSecurity: 'force',
  policies: ownedByUser('session_devices'),
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    issuer: p.text(),
    sid: p.text(),
    deviceId: p.uuid(),
    createdAt: createdAt(),
  },
  indexes: [{ name: 'session_devices_created', properties: ['createdAt'] }],
  uniques: [{ name: 'session_devices_sid', properties: ['userId', 'tenantId', 'issuer', 'sid'] }],
});

/** A record with which one of a user's clients tells the others what it saw of the vault. */
export const MemoryRecord = defineEntity({
  name: 'MemoryRecord',
  tableName: 'memory_records',
  rowLevelSecurity: 'force',
  policies: ownedByUser('memory_records'),
  indexes: [{ name: 'memory_records_owner', properties: ['userId', 'tenantId', 'position'] }],
  uniques: [
    { name: 'memory_records_number', properties: ['userId', 'tenantId', 'writer', 'number'] },
  ],
  properties: {
    /** The place among all records, in the order in which those of one user were stored. */
    position: p.bigint('number').primary().autoincrement().generated('by default as identity'),
    ...owner(),
    /** Id of a device of the user, or a random id. */
    writer: p.uuid(),
    /** The place among the records of the writer, from 1. */
    number: p.integer(),
    /** Encrypted by the client, in base64. */
    record: p.text(),
    createdAt: createdAt(),
  },
});
