import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import { ownedByUser } from '../columns/policies.ts';

/** A device of a user, under the id that it chose. A revoked one stays, so that it never comes back. */
export const Device = defineEntity({
  name: 'Device',
  tableName: 'devices',
  rowLevelSecurity: 'force',
  policies: ownedByUser('devices'),
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    deviceId: p.uuid().primary(),
    /** Name and platform, encrypted by the client, base64. */
    encryptedInfo: p.text().nullable(),
    /** Of that. */
    version: p.integer().default(1),
    createdAt: createdAt(),
    lastUsedAt: timestamp().nullable(),
    revokedAt: timestamp().nullable(),
    revokeReason: p.text().nullable(),
  },
});

/** The device that a session of another issuer is bound to: those have no row among our own. */
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
