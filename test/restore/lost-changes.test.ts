import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import type { Caller } from '../../app/http/requests/caller.ts';
import { StartRefused } from '../../app/errors/start-refused.ts';
import { Cursor } from '../../app/sync/objects/cursor.ts';
import { serviceRequest } from '../support/http/service-request.ts';
import { createOwnToken, type OwnToken } from '../signing-keys/keys-vault.ts';
import { testStack } from '../support/vault/stack.ts';
import {
  createDrillVault,
  untilAllSealed,
  type DrillVault,
  type RunningVault,
} from './drill-vault.ts';

const test = anyTest as TestFn<OwnToken>;

test.before(async (t) => {
  t.context = await createOwnToken();
});
test.after.always((t) => t.context.remove());

/** A user with a device and a login session, which every copy of the database has. */
const userId = randomUUID();
const deviceId = randomUUID();
const sessionId = randomUUID();
const caller: Caller = {
  userId,
  tenantId: 'default',
  plan: 'standard',
  roles: ['user'],
  scopes: ['sync:read', 'sync:write'],
  sessionId,
  issuer: 'http://vault.test',
  expiresAt: new Date(Date.now() + 3_600_000),
};

async function addDevice({ sql }: DrillVault): Promise<void> {
  await sql(`insert into devices (user_id, tenant_id, device_id) values ($1, 'default', $2)`, [
    userId,
    deviceId,
  ]);
  await sql(
    `insert into login_sessions (id, user_id, tenant_id, device_id, last_used_at, expires_at)
     values ($1, $2, 'default', $3, now(), now() + interval '1 day')`,
    [sessionId, userId, deviceId],
  );
}

async function createObjects({ services }: RunningVault, count: number): Promise<string[]> {
  const device = { deviceId, syncRequestId: undefined };
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const objectId of ids) {
    await services.synchronization.create(serviceRequest(caller), device, { objectId, data: {} });
  }
  return ids;
}

async function readOn({ services }: RunningVault, cursor: string) {
  const page = { since: Cursor.parse(cursor), includeDeleted: false, limit: 100 };
  const { objects, nextCursor } = await services.syncReading.list(
    serviceRequest(caller),
    deviceId,
    page,
  );
  return { ids: objects.map(({ objectId }) => objectId), cursor: nextCursor };
}

async function epochOf({ sql }: DrillVault): Promise<string> {
  const [row] = await sql('select epoch from sync_epochs');
  return String(row?.['epoch']);
}

test('an accepted restore begins an epoch, and devices that were ahead skip nothing', async (t) => {
  const { SIGNER_SOCKET_PATH: token } = t.context.fixture.environment;
  const template = { database: testStack().templateDatabase, store: undefined, token };
  const original = await createDrillVault(t, template);
  await addDevice(original);
  const before = await original.start();
  const kept = await createObjects(before, 2);
  await untilAllSealed(original.sql);
  await original.untilMarked();
  await before.stop();
  const parts = { database: original.database, store: original.storeDirectory, token };
  const backup = await createDrillVault(t, parts);
  const later = await original.start();
  await createObjects(later, 2);
  await untilAllSealed(original.sql);
  const ahead = await readOn(later, '0');
  await original.untilMarked();
  await later.stop();
  t.is(ahead.cursor, '4', 'the first epoch has no name');

  const epochs = new Set<string>();
  for (const _restore of ['one', 'two']) {
    const drill = await createDrillVault(t, { ...parts, database: backup.database });
    const refusal = await t.throwsAsync(drill.start(), { instanceOf: StartRefused });
    t.is(await epochOf(drill), '');
    const [, markId = ''] = /restored --accept ([^`]+)`/.exec(refusal?.message ?? '') ?? [];
    await drill.accept(markId);
    // The second process uses the same acceptance.
    const vaults = [await drill.start(), await drill.start()] as const;
    const [vault, replica] = vaults;
    const written = await createObjects(vault, 2);
    const findEpoch = async () => {
      const found = await epochOf(drill);
      return found !== '' && found;
    };
    const epoch = await until(findEpoch, { what: 'the epoch', timeoutMs: 60_000 });
    epochs.add(epoch);
    for (const running of vaults) {
      const read = await readOn(running, ahead.cursor);
      t.deepEqual(read, { ids: [...kept, ...written], cursor: `${epoch}.4` });
    }
    const more = await createObjects(replica, 1);
    t.deepEqual(await readOn(vault, `${epoch}.4`), { ids: more, cursor: `${epoch}.5` });
    await untilAllSealed(drill.sql);
    await Promise.all(vaults.map((running) => running.stop()));
    const [{ entry } = {}] = await drill.sql(
      `select canonical::json->'data'->>'epoch' as entry from audit_entries
      where action = 'vault.restored'`,
    );
    t.is(entry, epoch);
    const next = await drill.start();
    t.like(await readOn(next, `${epoch}.5`), { ids: [], cursor: `${epoch}.5` });
    await next.stop();
    t.is(await epochOf(drill), epoch);
  }
  t.is(epochs.size, 2);
});
