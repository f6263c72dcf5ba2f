import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { assertError } from '../support/http/error-body.ts';
import { startReplica } from '../support/documents/replica.ts';
import { send } from '../support/http/send.ts';
import {
  entriesOf,
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';

const test = anyTest as TestFn<MaintenanceVault>;

test.beforeEach(async (t) => {
  t.context = await startMaintenanceVault();
});
test.afterEach.always((t) => t.context.stop());

/** Inserts parked messages that remove objects which do not exist. */
const insertParked = ({ sql }: MaintenanceVault, count: number) =>
  sql(
    `insert into outbox (id, kind, payload, attempts, parked_at)
     select gen_random_uuid(), 'object.delete',
       json_build_object('key', 'parked/' || n, 'version', '1')::text, 20,
       now() - n * interval '1 minute'
     from generate_series(1, $1::int) n`,
    [count],
  );

const parked = async ({ sql }: MaintenanceVault) =>
  (await sql('select 1 from outbox where parked_at is not null')).length;

test.serial('parked messages are taken up again and carried out', async (t) => {
  const { sql, counts, untilDone } = t.context;
  await insertParked(t.context, 1_500);
  t.deepEqual(await counts('drain-outbox', '?dryRun=true'), { resumedMessages: 1_500 });
  t.is(await parked(t.context), 1_500);
  t.deepEqual(await counts('drain-outbox'), { resumedMessages: 1_500 });
  await untilDone();
  t.deepEqual(await counts('drain-outbox'), { resumedMessages: 0 });
  const entries = await entriesOf(sql, { action: 'maintenance.ran' });
  t.deepEqual(
    entries.map(({ data }) => data),
    [
      { task: 'drain-outbox', resumedMessages: 1_000 },
      { task: 'drain-outbox', resumedMessages: 500 },
    ],
  );
});

test.serial('what a run took up before its process died stays taken up', async (t) => {
  const { vault, sql, keys, counts, run, untilDone } = t.context;
  const replica = await startReplica(vault, { INTERNAL_API_KEYS_FILE: keys.path });
  await insertParked(t.context, 1_500);
  const path = '/v1/internal/maintenance/drain-outbox';
  const paused = await pauseAt(vault, 'update on maintenance_runs');
  const lost = send('POST', replica.baseUrl + path, {
    headers: { 'X-Internal-Api-Key': keys.admin },
  });
  await untilWaiting(vault, 1);
  t.is(await parked(t.context), 1_500);
  replica.process.kill('SIGKILL');
  await t.throwsAsync(lost);
  await paused.end();
  assertError(t, await run('drain-outbox'), { status: 409, code: 'maintenance_running' });
  // The lease of the dead process would end after 15 s.
  await sql('update maintenance_locks set held_until = now()');
  const left = await until(
    async () => {
      const now = await parked(t.context);
      const busy = await sql(
        `select 1 from pg_stat_activity where datname = current_database() and state = 'active'
         and query like 'update outbox set parked_at%'`,
      );
      return busy.length === 0 && { now };
    },
    { what: 'the statement of the dead process to end', timeoutMs: 60_000 },
  );
  t.true([500, 1_500].includes(left.now));
  t.deepEqual(await counts('drain-outbox'), { resumedMessages: left.now });
  await untilDone();
});
