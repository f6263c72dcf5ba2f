import test from 'ava';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { insertEvidence } from '../../bench/search/evidence.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { MiB } from '../../support/documents/files.ts';
import { peakMemoryBytes, resetPeakMemory } from '../../support/processes/process-figures.ts';
import { numberFrom, rounds } from '../../support/runs/rounds.ts';
import { createDevice } from '../../support/sync/devices.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault } from '../../support/vault/vault.ts';
import { attacks } from './attacks.ts';
import { p95, useHonestly } from './honest-users.ts';
import { storeLargeObject } from './large-object.ts';
import { smallPlan, smallPlanMiB, writeSmallPlan } from './small-plan.ts';
import { startAttack } from './start-attack.ts';

const secondsEach = 3 * rounds;
const honestUsers = 10;
const scopes = ['documents:read', 'documents:write', 'uploads:write', 'sync:read', 'sync:write'];
const documents = numberFrom('DOCUMENTS', 1_000);
/** Parts of the names of the attacks to make, with commas between; all by default. */
const only = (process.env['ATTACK'] ?? '').split(',');
/** The limits of the app as they are unless set, which other tests widen. */
const defaults = {
  LIMITS_WRITE_USER: '',
  HTTP_REQUESTS_PER_CLIENT: '',
  HTTP_REFUSALS_PER_ADDRESS: '',
  HTTP_CONNECTIONS_PER_ADDRESS: '',
};
/** Mebibytes that the app may occupy, whatever one user does. */
const memoryMiB = 600;

test('while one account abuses the vault, others are served', async (t) => {
  t.timeout(120_000 + attacks.length * (secondsEach + 10) * 1_000);
  const directory = await mkdtemp(join(tmpdir(), 'probatio-abuse-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const settings = { PLANS_FILE: join(directory, 'plans.json') };
  await writeSmallPlan(settings.PLANS_FILE);
  const vault = await startVault(settings);
  t.teardown(() => vault.stop());
  const { baseUrl, process: app } = await startReplica(vault, { ...defaults, ...settings });
  t.teardown(() => app.stop());
  const sql = createSql(vault);
  const users = await Promise.all(
    Array.from({ length: honestUsers }, () => createDevice(vault, { scopes })),
  );
  const hostile = await createDevice(vault, { scopes, plan: smallPlan });
  const ids = [...users, hostile].map(({ api }) => api.caller.userId);
  await insertEvidence(vault.databases, ids, documents * ids.length);
  const target = {
    baseUrl,
    accessToken: hostile.api.token,
    deviceId: hostile.deviceId,
    objectId: await storeLargeObject(hostile),
  };

  /** Lets honest users work for some seconds. */
  async function measure() {
    resetPeakMemory(app.pid);
    const stop = new AbortController();
    const honest = useHonestly(baseUrl, users, stop.signal);
    await delay(secondsEach * 1_000);
    stop.abort();
    const { times, failures } = await honest;
    const memory = Math.round(peakMemoryBytes(app.pid) / MiB);
    return { p95Ms: p95(times), requests: times.length, failures, memory };
  }

  const size = async () => {
    const [row] = await sql('select pg_database_size(current_database()) as bytes');
    return Number(row?.['bytes']) / MiB;
  };

  await measure();
  const sizeBefore = await size();
  const quiet = await measure();
  /** Mebibytes by which the honest users let the database grow in this time. */
  const quietGrowth = (await size()) - sizeBefore;
  let growth = 0;
  t.log(`quiet: p95 ${quiet.p95Ms.toFixed(1)} ms, ${quiet.requests} requests`);
  for (const { name } of attacks.filter(({ name }) => only.some((part) => name.includes(part)))) {
    const before = await size();
    const stopAttack = await startAttack(name, target);
    const { p95Ms, requests, failures, memory } = await measure();
    const answers = await stopAttack();
    const grown = (await size()) - before;
    growth += Math.max(0, grown - quietGrowth);
    const slower = p95Ms / quiet.p95Ms;
    t.log(
      `${name}: p95 ${p95Ms.toFixed(1)} ms (${slower.toFixed(2)} times), ${requests} requests, ` +
        `${failures.length} failures, ${memory} MiB, ${grown.toFixed(1)} MiB more stored; ` +
        `attacker: ${answers.map(([answer, count]) => `${count} x ${answer}`).join(', ')}`,
    );
    t.deepEqual(failures.slice(0, 5), [], name);
    t.true(memory < memoryMiB, `${name}: ${memory} MiB`);
  }
  t.true(growth <= smallPlanMiB, `the database grew by ${growth} MiB of ${smallPlanMiB}`);
});
