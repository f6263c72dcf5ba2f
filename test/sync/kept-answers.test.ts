import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { change, createDevice, createObject } from '../support/sync/devices.ts';
import type { Answer } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';

const test = anyTest as TestFn<{ readonly vault: Vault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = sharedVault();
  t.context = { vault, sql: createSql(vault) };
});

const under = (id: string) => ({ 'x-sync-request-id': id });
const withoutTime = ({ status, body: { timestamp: _t, requestId: _r, ...body } }: Answer) => ({
  status,
  body,
});

/** An object of 9,000 leaves, whose text and pointers are almost as long as is allowed. */
const wide = () =>
  Object.fromEntries(
    Array.from({ length: 9_000 }, (_, n) => [`${String(n).padStart(5, '0')}${'-'.repeat(40)}`, n]),
  );

async function keptBytes(sql: Sql, userId: string): Promise<number> {
  const [row] = await sql(
    `select (select coalesce(sum(octet_length(answer)), 0) from sync_requests where user_id = $1)
       + (select sum(octet_length(concat(changed_fields, undo))) from sync_history
          where user_id = $1) as bytes`,
    [userId],
  );
  return Number(row?.['bytes']);
}

test('a short write with a long answer keeps little, and is replayed whole', async (t) => {
  const { vault, sql } = t.context;
  const one = await createDevice(vault);
  const { userId } = one.api.caller;
  const objectId = await createObject(one, { ...wide(), count: 0 });
  // Everything changes, so that a deletion on the first version conflicts in every leaf.
  const everything = Object.fromEntries(Object.keys(wide()).map((name) => [name, -1]));
  t.is((await one.write(change(objectId, 1, everything))).status, 200);

  const writes: [string, object, number][] = [
    ['a conflict', { objectId, version: 2, baseVersion: 1, deleted: true }, 409],
    ['a change', change(objectId, 2, { count: 1 }), 200],
  ];
  const answers: [string, object, Answer][] = [];
  for (const [what, body, status] of writes) {
    const before = await keptBytes(sql, userId);
    const id = randomUUID();
    const answer = await one.write(body, under(id));
    t.is(answer.status, status, what);
    t.true(JSON.stringify(answer.body).length > 450_000, what);
    const sent = JSON.stringify(body).length;
    const kept = (await keptBytes(sql, userId)) - before;
    t.true(kept < 4_000, `${what}: ${sent} bytes sent, ${kept} kept`);
    t.log(`${what}: ${sent} bytes sent, ${kept} kept`);
    answers.push([id, body, answer]);
  }
  const fields = answers.map(([, , { body }]) => body['fields']);
  t.is((fields[0] as unknown[]).length, 9_000);

  // Later versions, the deletion last, change nothing of the answers.
  for (let version = 3; version < 14; version += 1) {
    const delta = {
      [Object.keys(wide())[version] ?? '']: null,
      count: { version },
      more: [version],
    };
    t.is((await one.write(change(objectId, version, delta))).status, 200);
    for (const [id, body, first] of answers) {
      t.deepEqual(withoutTime(await one.write(body, under(id))), withoutTime(first));
    }
  }
  const last = { objectId, version: 15, baseVersion: 14, deleted: true };
  const gone = await one.write(last, under(randomUUID()));
  t.is(gone.status, 200);
  for (const [id, body, first] of answers) {
    t.deepEqual(withoutTime(await one.write(body, under(id))), withoutTime(first));
  }
});

test('each answer is replayed as of its version, whatever was written since', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const objectId = randomUUID();
  const steps: [() => Promise<Answer>, Answer][] = [];
  const send = async (send: () => Promise<Answer>) => steps.push([send, await send()]);
  const id = () => under(randomUUID());
  const keys = Array.from({ length: 12 }, id);
  await send(() => device.create({ objectId, data: { a: null, b: { c: {} }, d: [] } }, keys[0]));
  const deltas = [
    { b: null },
    { b: { c: { e: 1 } } },
    { b: { c: { e: null } } },
    { b: 1, d: null },
    { a: { a: { a: 1 } } },
    { a: 0 },
    { a: 0 },
    {},
  ];
  for (const [place, delta] of deltas.entries()) {
    await send(() => device.write(change(objectId, place + 1, delta), keys[place + 1]));
  }
  await send(() => device.write(change(objectId, 1, { a: 'too late' }), keys[9]));
  const gone = { objectId, version: 10, baseVersion: 9, deleted: true };
  await send(() => device.write(gone, keys[10]));
  await send(() => device.write(change(objectId, 9, { a: 1 }), keys[11]));
  t.deepEqual(
    steps.map(([, { status }]) => status),
    [201, ...deltas.map(() => 200), 409, 200, 409],
  );
  for (const [again, first] of steps) t.deepEqual(withoutTime(await again()), withoutTime(first));
});
