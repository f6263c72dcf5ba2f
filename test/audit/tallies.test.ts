import { randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { TalliedEvent } from '../../app/audit/tallies/tallied-event.ts';
import { createQueueCursor } from '../../app/audit/sealing/queue-cursor.ts';
import { limitTallied } from '../../app/audit/tallies/room.ts';
import { startTallies } from '../../app/audit/tallies/tallies.ts';
import { recordTallies } from '../../app/audit/tallies/recorder.ts';
import type { Clock } from '../../app/async/clock.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { eventOf, openTrail } from '../support/audit/entries.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.beforeEach(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.afterEach.always((t) => t.context.vault.stop());

const log = createLog('silent');
const past = new Date('2026-01-02T03:04:56.789Z');

function failureOf(userId: string, addressHash = 'a1'): TalliedEvent {
  return {
    action: 'auth.login_failed',
    actor: { type: 'anonymous', id: null },
    owner: { userId, tenantId: 'default' },
    resource: { type: 'account', id: userId },
    data: { addressHash },
  };
}

/** Starts tallies on the vault's database; the vault's own worker records those of past minutes. */
async function openTallies(t: ExecutionContext<{ vault: TestVault }>, clock: Clock = () => past) {
  const { db, trail: audit, readRoom, close } = await openTrail(t.context.vault);
  const tallies = startTallies({ db, audit, clock, log, limit: 1_000, readRoom });
  t.teardown(async () => {
    await tallies.stop();
    await close();
  });
  return { db, audit, readRoom, tallies };
}

async function entriesOf(sql: Sql, userId: string) {
  const rows = await sql('select canonical from audit_entries where user_id = $1 order by seq', [
    userId,
  ]);
  return rows.map(({ canonical }) => JSON.parse(String(canonical)) as Record<string, unknown>);
}

test('equal events of one minute become one entry with their count', async (t) => {
  const { sql } = t.context;
  let now = new Date('2126-01-02T03:04:56.789Z');
  const { tallies } = await openTallies(t, () => now);
  const userId = randomUUID();
  await Promise.all(Array.from({ length: 20 }, () => tallies.add(failureOf(userId))));
  await tallies.add(failureOf(userId, 'b2'));
  now = new Date(now.getTime() + 70_000);
  const entries = await until(
    async () => {
      const found = await entriesOf(sql, userId);
      return found.length === 2 && found;
    },
    { what: 'two entries', timeoutMs: 60_000 },
  );
  const minute = '2126-01-02T03:04:00.000Z';
  t.deepEqual(
    entries
      .map(({ data }) => data)
      .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    [
      { addressHash: 'a1', count: 20, minute },
      { addressHash: 'b2', count: 1, minute },
    ],
  );
  for (const entry of entries) {
    t.like(entry, {
      action: 'auth.login_failed',
      outcome: 'failure',
      actor: { type: 'anonymous', id: null },
      resource: { type: 'account', id: userId, owner: userId },
      requestId: null,
    });
  }
});

test('processes that record concurrently make one entry of each tally', async (t) => {
  const { vault, sql } = t.context;
  const now = () => new Date();
  const { db, audit, readRoom, tallies } = await openTallies(t);
  const users = Array.from({ length: 30 }, () => randomUUID());
  await Promise.all(users.map((userId) => tallies.add(failureOf(userId))));
  await Promise.all(Array.from({ length: 6 }, () => recordTallies(db, audit, now, readRoom)));
  await until(async () => (await sql('select 1 from audit_tallies')).length === 0, {
    what: `no tally in ${vault.baseUrl}`,
    timeoutMs: 60_000,
  });
  for (const userId of users) {
    const entries = await entriesOf(sql, userId);
    t.deepEqual(
      entries.map(({ seq, data }) => [seq, (data as { count: number }).count]),
      [[1, 1]],
    );
  }
});

test('a tally of the current minute is not recorded yet', async (t) => {
  const { sql } = t.context;
  const soon = new Date(Date.now() + 3_600_000);
  const { db, audit, readRoom, tallies } = await openTallies(t, () => soon);
  const userId = randomUUID();
  await tallies.add(failureOf(userId));
  await recordTallies(db, audit, () => soon, readRoom);
  t.is((await entriesOf(sql, userId)).length, 0);
  await recordTallies(db, audit, () => new Date(soon.getTime() + 70_000), readRoom);
  t.is((await entriesOf(sql, userId)).length, 1);
});

test('beyond the limit of tallies events still count, but under no user’s id', async (t) => {
  const { sql } = t.context;
  const { db, trail: audit, readRoom } = await openTrail(t.context.vault);
  const soon = () => new Date(Date.now() + 3_600_000);
  const tallies = startTallies({ db, audit, clock: soon, log, limit: 3, readRoom });
  t.teardown(async () => {
    await tallies.stop();
    await db.close();
  });
  const waiting = () => sql('select user_id, sum(count) as count from audit_tallies group by 1');
  await until(
    async () => {
      await tallies.add(failureOf(randomUUID()));
      return (await waiting()).some(({ user_id: id }) => String(id).startsWith('00000000-'));
    },
    { what: 'the limit to be noticed', timeoutMs: 60_000, intervalMs: 200 },
  );
  const before = await waiting();
  await Promise.all(Array.from({ length: 50 }, () => tallies.add(failureOf(randomUUID()))));
  const after = await waiting();
  t.is(after.length, before.length);
  const total = (rows: typeof after) => rows.reduce((sum, { count }) => sum + Number(count), 0);
  t.is(total(after), total(before) + 50);
});

test('unsealed entries hold tallies back only if they are entries of tallies', async (t) => {
  const { sql } = t.context;
  const soon = new Date(Date.now() + 3_600_000);
  const later = () => new Date(soon.getTime() + 70_000);
  const { db, audit, tallies } = await openTallies(t, () => soon);
  const owner = { userId: randomUUID(), tenantId: 'default' };
  // Another sealer has leased these entries, so that they stay unsealed.
  await db.asService(async (tx) => {
    for (let i = 0; i < 10; i += 1) await audit.append(tx, eventOf(owner, randomUUID()));
    await tx
      .updateTable('audit_queue')
      .set({ claimed_until: soon })
      .where('user_id', '=', owner.userId)
      .execute();
  });
  const users = Array.from({ length: 5 }, () => randomUUID());
  for (const userId of users) await tallies.add(failureOf(userId));
  await recordTallies(db, audit, later, limitTallied(createQueueCursor(), 3));
  t.is((await sql('select 1 from audit_tallies')).length, 2);
});
