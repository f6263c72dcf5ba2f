import { randomUUID } from 'node:crypto';
import { createApi, type Answer, type Api } from '../documents/uploads.ts';
import { createSql } from '../vault/sql.ts';
import type { Vault } from '../vault/vault.ts';

/** A user's device, with a login session that is bound to it. */
export interface SyncDevice {
  readonly api: Api;
  readonly deviceId: string;
  get(path: string): Promise<Answer>;
  create(body: object, headers?: Record<string, string>): Promise<Answer>;
  write(body: object, headers?: Record<string, string>): Promise<Answer>;
}

export interface DeviceOptions {
  readonly userId?: string;
  readonly deviceId?: string;
  readonly tenantId?: string;
  readonly scopes?: readonly string[];
  readonly plan?: string;
}

const syncScopes = ['sync:read', 'sync:write', 'uploads:write'];

export async function createDevice(
  vault: Vault,
  {
    userId = randomUUID(),
    deviceId = randomUUID(),
    tenantId = 'default',
    scopes = syncScopes,
    plan = 'standard',
  }: DeviceOptions = {},
): Promise<SyncDevice> {
  const api = await createApi(vault, { userId, tenantId, scopes, plan });
  const sql = createSql(vault);
  await sql('insert into devices (user_id, tenant_id, device_id) values ($1, $2, $3)', [
    userId,
    tenantId,
    deviceId,
  ]);
  await sql(
    `insert into login_sessions (id, user_id, tenant_id, device_id, last_used_at, expires_at)
     values ($1, $2, $3, $4, now(), now() + interval '1 day')`,
    [api.caller.sessionId, userId, tenantId, deviceId],
  );
  return deviceOf(api, deviceId);
}

/** Creates two devices of one user. */
export async function createTwo(
  vault: Vault,
  deviceIds: readonly [string, string] = [randomUUID(), randomUUID()],
): Promise<[SyncDevice, SyncDevice]> {
  const userId = randomUUID();
  const [one, two] = deviceIds;
  return [
    await createDevice(vault, { userId, deviceId: one }),
    await createDevice(vault, { userId, deviceId: two }),
  ];
}

export function deviceOf(api: Api, deviceId: string): SyncDevice {
  const own = { 'x-device-id': deviceId };
  const versioned = { ...own, 'x-schema-version': '1' };
  const post = (path: string) => (json: object, headers?: Record<string, string>) =>
    api.send('POST', path, { json, headers: { ...versioned, ...headers } });
  return {
    api,
    deviceId,
    get: (path) => api.send('GET', path, { headers: own }),
    create: post('/v1/sync/create'),
    write: post('/v1/sync'),
  };
}

/** Creates an object and returns its id. */
export async function createObject(
  device: SyncDevice,
  data: object,
  objectType?: string,
): Promise<string> {
  const objectId = randomUUID();
  const { status, body } = await device.create({
    objectId,
    data,
    ...(objectType === undefined ? {} : { objectType }),
  });
  if (status !== 201) throw new Error(`the object got ${status}: ${JSON.stringify(body)}`);
  return objectId;
}

/** Returns the body of a write that follows a version the device knows. */
export function change(objectId: string, baseVersion: number, delta: object, changedAt?: string) {
  const version = baseVersion + 1;
  return {
    objectId,
    version,
    baseVersion,
    delta,
    ...(changedAt === undefined ? {} : { changedAt }),
  };
}

export const codeOf = ({ status, body }: Answer) => `${status} ${String(body['code'])}`;
