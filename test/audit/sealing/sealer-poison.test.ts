import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault } from '../../support/vault/vault.ts';
import { appendEntries, eventOf, openTrail } from '../../support/audit/entries.ts';
import { startSignerProxy, type Failure } from './signer-proxy.ts';
import { appendSpoilt, release } from '../../support/audit/unsealed.ts';

/**
 * Starts a vault behind a proxy to the signer, with helpers that observe its entries and its log.
 */
async function startBehindProxy(t: ExecutionContext) {
  const proxy = await startSignerProxy(t);
  const vault = await startVault({ SIGNER_SOCKET_PATH: proxy.socketPath });
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const waiting = async () =>
    (await sql('select entry_id as id, attempts from audit_queue')).map(({ id, attempts }) => ({
      id,
      attempts,
    }));
  const untilSealed = (what: string, ...except: string[]) =>
    until(async () => (await waiting()).every(({ id }) => except.includes(String(id))), {
      what,
      timeoutMs: 60_000,
    });
  await until(async () => (await sql('select 1 from signing_keys')).length > 0, {
    what: 'the keys',
    timeoutMs: 60_000,
  });
  await untilSealed('the entries of the keys to be sealed');
  let begun = 0;
  const logged = (message: string) =>
    vault.logLines.slice(begun).filter((line) => line.includes(message));
  // A start on a busy machine may pause sealing too, so only later log lines count.
  const isOver = () => logged('sealing pauses').length === logged('sealing resumes').length;
  await until(isOver, { what: 'the pauses to end', timeoutMs: 60_000 });
  begun = vault.logLines.length;
  return { proxy, vault, sql, open, waiting, untilSealed, logged };
}

/** Ends the pause before the next attempt of every entry that failed. */
const hurry = `update audit_queue set claimed_until = now()
  where claim_id is null and claimed_until > now()`;

const failures: Record<string, Failure> = {
  bad_response: { status: 200, text: 'jam' },
  invalid_request: {
    status: 400,
    text: JSON.stringify({ code: 'invalid_request', message: 'the body is not JSON' }),
  },
  internal_error: {
    status: 500,
    text: JSON.stringify({ code: 'internal_error', message: 'the signer is at fault' }),
  },
};

for (const [reason, failure] of Object.entries(failures)) {
  test(`an entry that breaks a batch (${reason}) is dead; others lose no attempt`, async (t) => {
    const { proxy, sql, open, untilSealed, logged } = await startBehindProxy(t);
    const poison: string[] = [];
    proxy.fail = (batch) => (poison.some((id) => batch.includes(id)) ? failure : undefined);
    await open.db.asUser(open.owner, async (tx) => {
      for (let i = 0; i < 61; i += 1) {
        const id = await open.trail.append(tx, eventOf(open.owner, randomUUID()));
        if (i === 0 || i === 30) poison.push(id);
      }
    });
    await untilSealed('the other entries to be sealed', ...poison);
    await until(
      async () => {
        await appendEntries(open, 3);
        await sql(hurry);
        return (await sql(`select 1 from audit_entries where state = 'DEAD'`)).length === 2;
      },
      { what: 'the dead letters', timeoutMs: 60_000, intervalMs: 100 },
    );
    t.deepEqual(
      await sql('select entry_id, reason, attempts from audit_dead_letters order by entry_id'),
      poison.toSorted().map((id) => ({ entry_id: id, reason, attempts: 5 })),
    );
    await untilSealed('all other entries to be sealed');
    const faults = logged('an audit entry cannot be sealed');
    t.true(faults.every((line) => poison.some((id) => line.includes(id))));
  });
}

test('a signer that fails every batch kills no entry, and all are sealed afterwards', async (t) => {
  const { proxy, sql, open, waiting, untilSealed, logged } = await startBehindProxy(t);
  proxy.fail = () => failures['bad_response'];
  await appendEntries(open, 40);
  // Each pause is longer, up to 5 s, and after slow batches each has a single entry.
  let before: number | undefined;
  await until(
    async () => {
      await sql(hurry);
      if (logged('sealing pauses').length > 0) before ??= proxy.batches;
      return before !== undefined && proxy.batches > before + 5;
    },
    { what: 'many failed batches', timeoutMs: 60_000 },
  );
  const left = await waiting();
  t.is(left.length, 40);
  t.true(left.every(({ attempts }) => Number(attempts) <= 1));
  t.is(logged('sealing pauses').length, 1);
  proxy.fail = () => undefined;
  await untilSealed('the entries to be sealed');
});

test('an entry at which the signer hangs up delays no other and loses no attempt', async (t) => {
  const { proxy, open, waiting, untilSealed } = await startBehindProxy(t);
  const [poison = ''] = await open.db.asUser(open.owner, async (tx) => {
    const ids: string[] = [];
    for (let i = 0; i < 9; i += 1) {
      ids.push(await open.trail.append(tx, eventOf(open.owner, randomUUID())));
    }
    proxy.fail = (batch) => (batch.includes(ids[0] ?? '') ? 'cut' : undefined);
    return ids;
  });
  await untilSealed('the entries after it to be sealed', poison);
  t.deepEqual(await waiting(), [{ id: poison, attempts: 0 }]);
  proxy.fail = () => undefined;
  await untilSealed('the entry itself to be sealed');
});

test('sealing logs one line when it pauses, and one when it resumes', async (t) => {
  const { proxy, open, waiting, untilSealed, logged } = await startBehindProxy(t);
  const away = JSON.stringify({ code: 'hsm_unavailable', message: 'away' });
  proxy.fail = () => ({ status: 503, text: away });
  await appendEntries(open, 1);
  const before = proxy.batches;
  await until(() => proxy.batches > before + 6, { what: 'several tries', timeoutMs: 60_000 });
  t.is(logged('sealing pauses').length, 1);
  t.deepEqual(logged('sealing resumes'), []);
  t.is((await waiting())[0]?.attempts, 0);
  proxy.fail = () => undefined;
  await untilSealed('the entry to be sealed');
  await until(() => logged('sealing resumes').length > 0, { what: 'the line', timeoutMs: 60_000 });
  t.is(logged('sealing pauses').length, 1);
  t.regex(logged('sealing resumes').join(), /"pausedMs":[1-9]\d*/);
  t.is(logged('sealing resumes').length, 1);
});

test('an entry too large for the signer is dead, and its batch is sealed', async (t) => {
  const { proxy, sql, open, untilSealed } = await startBehindProxy(t);
  let largest = 0;
  proxy.fail = (batch) => {
    largest = Math.max(largest, batch.length);
    return undefined;
  };
  const { id: poison } = await appendSpoilt(open, sql, () => 'x'.repeat(33 * 2 ** 20));
  await sql('update audit_queue set attempts = 4 where entry_id = $1', [poison]);
  await release(sql, poison);
  await appendEntries(open, 5);
  await untilSealed('the rest');
  t.deepEqual(await sql('select entry_id, reason, attempts from audit_dead_letters'), [
    { entry_id: poison, reason: 'too_large', attempts: 5 },
  ]);
  t.true(largest < 2 ** 20);
});
