import test from 'ava';
import { sql } from 'kysely';
import { until } from '../../support/audit/token-fixture.ts';
import { countSlots, insertSlot, openBehindAnswerProxy } from './answer-proxy.ts';

test('the first statement of a transaction is sent before Postgres has answered', async (t) => {
  const { db, proxy, observer } = await openBehindAnswerProxy(t);
  const { pid } = await db.asService(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
    return rows[0] ?? { pid: 0 };
  });
  proxy.hold();
  const inserted = db.asService((tx) => insertSlot(tx));
  await until(async () => {
    const { rows } = await observer.query<{ query: string }>(
      'select query from pg_stat_activity where pid = $1',
      [pid],
    );
    return rows[0]?.query.startsWith('insert into') === true;
  });
  t.is(await countSlots(observer), 0);
  proxy.release();
  await inserted;
  t.is(await countSlots(observer), 1);
});

test('a statement leaves nothing if its transaction cannot begin', async (t) => {
  const { db, observer } = await openBehindAnswerProxy(t, { idleMs: -1 });
  await t.throwsAsync(
    db.asService((tx) => insertSlot(tx)),
    { message: /idle_in_transaction|aborted/ },
  );
  t.is(await countSlots(observer), 0);
});

test('a transaction that cannot begin has no result, whatever its work returns', async (t) => {
  const { db } = await openBehindAnswerProxy(t, { idleMs: -1 });
  await t.throwsAsync(db.asService(async () => 'done'));
});
