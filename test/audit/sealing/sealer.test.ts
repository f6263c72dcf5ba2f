import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { startServices } from '../../../app/wiring/services.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { newMetrics } from '../../support/metrics/new-metrics.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { appendEntries, eventOf, openTrail } from '../../support/audit/entries.ts';
import { startVaultWithSigner } from '../../support/audit/killable-signer.ts';
import { appendSpoilt, release } from '../../support/audit/unsealed.ts';

async function untilSealed(sql: Sql, what: string): Promise<void> {
  await until(
    async () => (await sql(`select 1 from audit_entries where state = 'PENDING'`)).length === 0,
    { what, timeoutMs: 60_000 },
  );
}

/** Records every seal by a trigger. Returns a function that counts them by entry. */
async function watchSeals(vault: TestVault): Promise<() => Promise<Record<string, unknown>[]>> {
  const sql = createSql(vault);
  await sql(`
    create table seals (entry_id uuid);
    create function write_seal() returns trigger security definer language plpgsql as $$
      begin
        insert into public.seals values (new.entry_id);
        return null;
      end $$;
    create trigger write_seal after insert or update on audit_seals
      for each row execute function write_seal();`);
  return () => sql('select entry_id, count(*)::int as times from seals group by 1');
}

test('concurrent sealers seal every entry exactly once', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const other = await startServices(vault.config, createLog('silent'), newMetrics());
  t.teardown(() => other.stop());
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const readSeals = await watchSeals(vault);

  const appended = Array.from({ length: 4 }, () => appendEntries(open, 300));
  const ids = (await Promise.all(appended)).flat();
  await untilSealed(createSql(vault), 'the entries to be sealed');
  const seals = await readSeals();
  const sealed = new Set(seals.map(({ entry_id }) => entry_id));
  t.deepEqual(
    ids.filter((id) => !sealed.has(id)),
    [],
  );
  t.true(seals.every(({ times }) => times === 1));
});

test('an unsealable entry is dead after five attempts and delays no other', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const { id: poison } = await appendSpoilt(open, sql, (id) => `{"b":1,"a":2,"id":"${id}"}`);
  await release(sql, poison);
  await appendEntries(open, 20);
  await until(
    async () => {
      // Ends the pauses of 1, 2, 4 and 8 seconds between the attempts.
      await sql(
        `update audit_queue set claimed_until = now()
         where claim_id is null and attempts > 0`,
      );
      const [entry] = await sql('select state from audit_entries where id = $1', [poison]);
      return entry?.state === 'DEAD';
    },
    { what: 'the dead letter', timeoutMs: 60_000, intervalMs: 100 },
  );
  t.deepEqual(await sql('select entry_id, reason, attempts from audit_dead_letters'), [
    { entry_id: poison, reason: 'not_canonical', attempts: 5 },
  ]);
  await appendEntries(open, 20);
  await untilSealed(sql, 'the other entries to be sealed');
  t.is(
    (await sql(`select 1 from audit_entries where state = 'SEALED' and resource_type <> 'key'`))
      .length,
    40,
  );
});

test('without the signer entries wait and lose no attempt, and are sealed later', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner();
  t.teardown(stop);
  const sql = createSql(vault);
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  await signer.kill();
  await appendEntries(open, 700);
  await until(() => vault.logLines.some((line) => line.includes('sealing pauses')), {
    what: 'a failed batch',
    timeoutMs: 60_000,
  });
  t.deepEqual(
    await sql(
      `select e.state, q.attempts, count(*)::int
       from audit_entries e left join audit_queue q on q.entry_id = e.id
       where e.resource_type <> 'key' group by 1, 2`,
    ),
    [{ state: 'PENDING', attempts: 0, count: 700 }],
  );
  await signer.start();
  await untilSealed(sql, 'the backlog to drain');
  t.deepEqual(
    await sql(
      `select state, count(*)::int from audit_entries where resource_type <> 'key' group by 1`,
    ),
    [{ state: 'SEALED', count: 700 }],
  );
  t.deepEqual(await sql('select 1 from audit_dead_letters'), []);
});

test('an entry that a dead sealer claimed is sealed by another after the lease ends', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const claimed = await open.db.asService(async (tx) => {
    const id = await open.trail.append(tx, eventOf(open.owner, randomUUID()));
    await tx
      .updateTable('audit_queue')
      .set({ claim_id: randomUUID(), claimed_until: new Date(Date.now() + 3_600_000) })
      .where('entry_id', '=', id)
      .execute();
    return id;
  });
  const [later] = await appendEntries(open, 1);
  const stateOf = async (id: string | undefined) =>
    (await sql('select state from audit_entries where id = $1', [id]))[0]?.state;
  await until(async () => (await stateOf(later)) === 'SEALED', {
    what: 'the later entry to be sealed',
    timeoutMs: 60_000,
  });
  t.is(await stateOf(claimed), 'PENDING');
  await sql('update audit_queue set claimed_until = now() where entry_id = $1', [claimed]);
  await untilSealed(sql, 'the claimed entry to be sealed');
  t.is(await stateOf(claimed), 'SEALED');
});
