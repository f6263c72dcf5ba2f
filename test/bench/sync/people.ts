import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { DatabaseUrls } from '../../../app/dev/postgres/database.ts';

/** A user in a login session that is bound to a device. */
export interface Person {
  readonly userId: string;
  readonly sessionId: string;
  readonly deviceId: string;
}

/** Returns the headers of a person's requests. */
export function headersOf(token: string, { deviceId }: Person): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    'x-device-id': deviceId,
    'x-schema-version': '1',
  };
}

/**
 * Inserts people, each a different user, unless `userId` names the one owner of all the devices.
 */
export async function insertPeople(
  service: Client,
  count: number,
  userId?: string,
): Promise<Person[]> {
  const people = Array.from({ length: count }, () => ({
    userId: userId ?? randomUUID(),
    sessionId: randomUUID(),
    deviceId: randomUUID(),
  }));
  for (const { userId, sessionId, deviceId } of people) {
    await service.query(
      `insert into devices (user_id, tenant_id, device_id) values ($1, 'default', $2)`,
      [userId, deviceId],
    );
    await service.query(
      `insert into login_sessions (id, user_id, tenant_id, device_id, last_used_at, expires_at)
       values ($1, $2, 'default', $3, now(), now() + interval '1 day')`,
      [sessionId, userId, deviceId],
    );
  }
  return people;
}

/** Inserts a person's objects as if each had been created over HTTP. */
export async function insertObjects(
  { owner, service }: DatabaseUrls,
  { userId }: Person,
  count: number,
): Promise<void> {
  await withClient(service, async (client) => {
    await client.query(
      `insert into sync_objects
         (user_id, tenant_id, object_id, version, data, change_seq, last_modified_at)
       select $1, 'default', gen_random_uuid(), 1, '{"a":1,"b":2}', i, now()
       from generate_series(1, $2::int) i`,
      [userId, count],
    );
    await client.query(
      `insert into sync_counters (user_id, tenant_id, last_change) values ($1, 'default', $2)`,
      [userId, count],
    );
  });
  await withClient(owner, (client) => client.query('vacuum (analyze) sync_objects'));
}

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
