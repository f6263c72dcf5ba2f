import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { eventOf, openTrail, type TestTrail } from '../../support/audit/entries.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';

interface Context {
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly trail: TestTrail;
  /** Sets the milliseconds by which the clock of the trail is ahead of that of Postgres. */
  readonly shift: (ms: number) => void;
}

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const vault = await startVault();
  let aheadMs = 0;
  const trail = await openTrail(vault, undefined, () => new Date(Date.now() + aheadMs));
  const shift = (ms: number) => {
    aheadMs = ms;
  };
  t.context = { vault, sql: createSql(vault), trail, shift };
});

test.after.always(async ({ context: { vault, trail } }) => {
  await trail.close();
  await vault.stop();
});

for (const minutes of [-1, 1]) {
  test.serial(`no entry is appended whose time is over ${minutes} min away`, async (t) => {
    const { trail, sql, shift } = t.context;
    const { db, owner } = trail;
    const [refused, allowed] = [randomUUID(), randomUUID()];
    const append = (id: string) =>
      db.asUser(owner, (tx) => trail.trail.append(tx, eventOf(owner, id)));
    const appendAll = (...ids: readonly string[]) =>
      db.asUser(owner, async (tx) => {
        trail.trail.appendAll(
          tx,
          ids.map((id) => eventOf(owner, id)),
        );
      });
    shift(minutes * 61_000);
    const skew = { code: 'clock_skew', message: /clock/ };
    await t.throwsAsync(append(refused), skew);
    await t.throwsAsync(appendAll(refused, allowed), skew);
    shift(minutes * 55_000);
    await append(allowed);
    await appendAll(allowed);
    const rows = await sql(
      'select resource_id, seq from audit_entries where user_id = $1 order by seq',
      [owner.userId],
    );
    const ours = rows.filter(({ resource_id: id }) => id === allowed || id === refused);
    t.deepEqual(
      ours.map(({ resource_id: id, seq }) => [id, Number(seq)]),
      [
        [allowed, 1],
        [allowed, 2],
      ],
    );
  });
}
