import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { createApi } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import {
  change,
  codeOf,
  createDevice,
  createTwo,
  createObject,
  type SyncDevice,
} from '../support/sync/devices.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

test.serial('50 concurrent writes of one object create 50 versions without a gap', async (t) => {
  const { vault, sql } = t.context;
  const [device, other] = await createTwo(vault);
  const id = await createObject(device, {});
  const writes = numbers(50).map((n) =>
    (n % 2 === 0 ? device : other).write(change(id, 1, { [`f${n}`]: n })),
  );
  const answers = await Promise.all(writes);
  t.deepEqual(
    answers.map((answer) => Number(answer.body['version'])).toSorted((a, b) => a - b),
    numbers(50).map((n) => n + 2),
  );
  const { body } = await device.get(`/v1/sync/${id}`);
  t.is(body['version'], 51);
  t.deepEqual(body['data'], Object.fromEntries(numbers(50).map((n) => [`f${n}`, n])));
  const changes = await sql('select change_seq from sync_objects where object_id = $1', [id]);
  t.is(Number(changes[0]?.['change_seq']), 51);
  const kept = await sql(
    'select version, status from sync_history where object_id = $1 order by version',
    [id],
  );
  t.deepEqual(
    kept,
    numbers(51).map((n) => ({ version: n + 1, status: 'APPLIED' })),
  );
  const entries = await sql(
    `select seq::int, (canonical::json -> 'data' ->> 'version')::int as version
     from audit_entries where resource_id = $1 order by seq`,
    [id],
  );
  t.deepEqual(
    entries,
    numbers(51).map((n) => ({ seq: n + 1, version: n + 1 })),
  );
});

test.serial('a device revoked during its write has written before or not at all', async (t) => {
  const { vault, sql } = t.context;
  const device = await createDevice(vault);
  const { userId } = device.api.caller;
  const keeper = await createApi(vault, { userId, scopes: ['keys:manage', 'uploads:write'] });
  const revoke = (deviceId: string) => keeper.send('DELETE', `/v1/crypto/keys/devices/${deviceId}`);
  const id = await createObject(device, { a: 1 });

  const other = await createDevice(vault, { userId });
  const revoked = await pauseAt(vault, 'update on devices');
  const revoking = revoke(other.deviceId);
  await untilWaiting(vault, 1);
  const late = other.write(change(id, 1, { a: 2 }));
  await untilWaiting(vault, 2);
  await revoked.end();
  t.is((await revoking).status, 204);
  t.is(codeOf(await late), '403 device_blacklisted');
  t.is((await sql('select 1 from sync_history where object_id = $1', [id])).length, 1);

  const written = await pauseAt(vault, 'insert on sync_history');
  const early = device.write(change(id, 1, { a: 3 }));
  await untilWaiting(vault, 1);
  const waiting = revoke(device.deviceId);
  await untilWaiting(vault, 2);
  await written.end();
  t.is((await early).status, 200);
  t.is((await waiting).status, 204);
  const refused = await device.write(change(id, 2, { a: 4 }));
  t.true(['401 invalid_token', '403 device_blacklisted'].includes(codeOf(refused)));
});

test.serial(
  'one of 50 concurrent writes of a field is applied, and all are recorded',
  async (t) => {
    const { vault, sql } = t.context;
    const device = await createDevice(vault);
    const id = await createObject(device, { f: 'a' });
    const answers = await Promise.all(
      numbers(50).map((n) => device.write(change(id, 1, { f: n }))),
    );
    const applied = answers.filter(({ status }) => status === 200);
    t.is(applied.length, 1);
    t.is(answers.filter(({ status }) => status === 409).length, 49);
    const { body } = await device.get(`/v1/sync/${id}`);
    t.deepEqual([body['version'], body['data']], [2, applied[0]?.body['data']]);
    const kept = await sql('select status from sync_history where object_id = $1', [id]);
    t.is(kept.length, 51);
  },
);

test.serial('one of concurrent creations of an object succeeds', async (t) => {
  const device = await createDevice(t.context.vault);
  const objectId = randomUUID();
  const answers = await Promise.all(
    numbers(10).map((n) => device.create({ objectId, data: { n } })),
  );
  t.deepEqual(answers.map(codeOf).toSorted(), [
    '201 undefined',
    ...numbers(9).map(() => '409 object_exists'),
  ]);
});

test.serial('a request repeated under its id is replayed and not executed again', async (t) => {
  const { vault, sql } = t.context;
  const device = await createDevice(vault);
  const under = (id: string) => ({ 'x-sync-request-id': id });
  const [making, changing, losing] = [randomUUID(), randomUUID(), randomUUID()];
  const objectId = randomUUID();
  const create = { objectId, data: { b: 1, a: 2 } };
  const made = await device.create(create, under(making));
  t.is(made.status, 201);
  const changed = await device.write(change(objectId, 1, { a: 3 }), under(changing));
  t.is(changed.status, 200);
  const lost = await device.write(change(objectId, 1, { a: 4 }), under(losing.toUpperCase()));
  t.is(lost.status, 409);
  await device.write(change(objectId, 2, { a: 5 }));

  const rearranged = { data: { a: 2, b: 1 }, objectId };
  t.deepEqual((await device.create(rearranged, under(making))).body, made.body);
  t.deepEqual(
    (await device.write(change(objectId, 1, { a: 3 }), under(changing))).body,
    changed.body,
  );
  const again = await device.write(change(objectId, 1, { a: 4 }), under(losing));
  t.is(again.status, 409);
  const own = ({ timestamp, requestId, ...rest }: Record<string, unknown>) => [
    rest,
    typeof timestamp,
    typeof requestId,
  ];
  t.deepEqual(own(again.body), own(lost.body));

  for (const answer of [
    await device.write(change(objectId, 1, { a: 9 }), under(changing)),
    await device.write(change(objectId, 1, { a: 3 }), under(making)),
    await device.create({ objectId, data: {} }, under(making)),
  ]) {
    t.is(codeOf(answer), '409 sync_request_reused');
  }
  t.is(codeOf(await device.write(change(objectId, 3, {}), under('x'))), '400 validation_failed');
  const { body } = await device.get(`/v1/sync/${objectId}/history`);
  const history = body['history'] as { version: number; syncRequestId: string | null }[];
  t.deepEqual(
    history.map(({ version, syncRequestId }) => [version, syncRequestId]),
    [
      [1, making],
      [2, changing],
      [2, losing],
      [3, null],
    ],
  );
  await sql(`update sync_requests set expires_at = now() where request_id = $1`, [changing]);
  const free = await device.write(change(objectId, 3, { a: 9 }), under(changing));
  t.like(free.body, { status: 'APPLIED', version: 4 });
});

test.serial('a refused request may be sent again under its id', async (t) => {
  const device = await createDevice(t.context.vault);
  const headers = { 'x-sync-request-id': randomUUID() };
  const objectId = randomUUID();
  t.is((await device.write(change(objectId, 1, { a: 1 }), headers)).status, 404);
  await device.create({ objectId, data: {} });
  t.is((await device.write(change(objectId, 1, { a: 1 }), headers)).status, 200);
});

test.serial(
  'one of concurrent requests under one id is executed, and all get its response',
  async (t) => {
    const { vault, sql } = t.context;
    const device = await createDevice(vault);
    const id = await createObject(device, { a: 1 });
    const headers = { 'x-sync-request-id': randomUUID() };
    const paused = await pauseAt(vault, 'insert on sync_history');
    const sent = numbers(3).map(() => device.write(change(id, 1, { a: 2 }), headers));
    await untilWaiting(vault, 3);
    await paused.end();
    const answers = await Promise.all(sent);
    t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    t.deepEqual(answers[1]?.body, answers[0]?.body);
    t.deepEqual(answers[2]?.body, answers[0]?.body);
    const kept = await sql('select version from sync_history where object_id = $1', [id]);
    t.is(kept.length, 2);
  },
);

test.serial(
  'one of two concurrent writes of different objects under one id is executed',
  async (t) => {
    const { vault, sql } = t.context;
    const [one, two] = await createTwo(vault);
    const ids = [await createObject(one, { a: 1 }), await createObject(one, { a: 1 })] as const;
    const headers = { 'x-sync-request-id': randomUUID() };
    const paused = await pauseAt(vault, 'insert on sync_history');
    const first = one.write(change(ids[0], 1, { a: 2 }), headers);
    await untilWaiting(vault, 1);
    const others = [
      two.write(change(ids[1], 1, { a: 2 }), headers),
      two.create({ objectId: randomUUID(), data: {} }, headers),
    ];
    await untilWaiting(vault, 3);
    await paused.end();
    t.is((await first).status, 200);
    for (const answer of others) t.is(codeOf(await answer), '409 sync_request_reused');
    const versions = await sql(
      'select version from sync_objects where object_id in ($1, $2) order by version',
      [...ids],
    );
    t.deepEqual(versions, [{ version: 1 }, { version: 2 }]);
  },
);

test.serial('an expired request id that is removed while it is reused is free', async (t) => {
  const { vault, sql } = t.context;
  const device = await createDevice(vault);
  const id = await createObject(device, { a: 1 });
  const headers = { 'x-sync-request-id': randomUUID() };
  await device.write(change(id, 1, { a: 2 }), headers);
  await sql('update sync_requests set expires_at = now() where request_id = $1', [
    headers['x-sync-request-id'],
  ]);
  const maintenance = await connectAs(vault.databases.admin);
  await maintenance.query('begin');
  const old = 'from sync_requests where request_id = $1';
  await maintenance.query(`select 1 ${old} for update`, [headers['x-sync-request-id']]);
  const writing = device.write(change(id, 2, { a: 3 }), headers);
  await untilWaiting(vault, 1);
  await maintenance.query(`delete ${old}`, [headers['x-sync-request-id']]);
  await maintenance.query('commit');
  await maintenance.end();
  t.like((await writing).body, { status: 'APPLIED', version: 3 });
});

/** Reads changes until a page is empty after `isOver`, and returns them in order. */
async function follow(device: SyncDevice, limit: number, isOver: () => boolean): Promise<string[]> {
  const seen: string[] = [];
  let cursor = '0';
  for (;;) {
    const wasOver = isOver();
    const { body } = await device.get(`/v1/sync?since=${cursor}&limit=${limit}`);
    const objects = body['objects'] as { objectId: string; version: number }[];
    for (const { objectId, version } of objects) seen.push(`${objectId} ${version}`);
    cursor = String(body['nextCursor']);
    if (wasOver && objects.length === 0) return seen;
  }
}

test.serial('a reader during many commits sees each change once and skips none', async (t) => {
  const rounds = 200;
  const lanes = 10;
  const { vault } = t.context;
  const device = await createDevice(vault);
  let open = lanes;
  const write = async () => {
    const versions: string[] = [];
    for (let n = 0; n < rounds / lanes; n += 1) {
      // Half of the objects change once more.
      const id = await createObject(device, { n });
      if (n % 2 === 0) await device.write(change(id, 1, { n: -1 }));
      versions.push(`${id} ${n % 2 === 0 ? 2 : 1}`);
    }
    open -= 1;
    return versions;
  };
  const readers = [3, 1000].map((limit) => follow(device, limit, () => open === 0));
  const written = (await Promise.all(numbers(lanes).map(write))).flat().toSorted();
  for (const reader of readers) {
    const seen = await reader;
    t.is(new Set(seen).size, seen.length, 'no change twice');
    const latest = new Map(seen.map((line) => line.split(' ') as [string, string]));
    const last = [...latest].map(([id, version]) => `${id} ${version}`);
    t.deepEqual(last.toSorted(), written);
    const order = Map.groupBy(seen, (line) => line.split(' ')[0]);
    for (const versions of order.values()) t.deepEqual(versions, versions.toSorted());
  }
});
