import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { Registry } from 'prom-client';
import { v7 as uuidv7 } from 'uuid';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { openDatabase } from '../../../app/db/database.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { createReading } from '../../../app/telemetry/metrics/readings.ts';
import { startServices } from '../../../app/wiring/services.ts';
import { createOwnSigner } from '../../support/audit/killable-signer.ts';
import { certify, storeDocument } from '../../support/documents/documents.ts';
import { createPerson } from '../../support/documents/people.ts';
import { newMetrics } from '../../support/metrics/new-metrics.ts';
import { keyOf, scrape, valueOf, type Series } from '../../support/metrics/scrape.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, startVault, type TestVault } from '../../support/vault/vault.ts';

const fifteenMinutes = 900;

/** Opens a database of its own connections, and returns the function that reads and scrapes. */
async function openReading(
  t: ExecutionContext,
  { url, serviceUrl }: { readonly url: string; readonly serviceUrl: string },
) {
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  const { registry, readings: metrics, descriptions } = newMetrics();
  const logLines: string[] = [];
  const log = createLog('info', { write: (line) => void logLines.push(line) });
  let now = new Date();
  const read = createReading({ metrics, db, cursor: createQueueCursor(), clock: () => now, log });
  return {
    logLines,
    /** The names of the metrics that are read from the database. */
    names: new Set(descriptions.read.map(({ name }) => name)),
    pass: (seconds: number) => {
      now = new Date(now.getTime() + seconds * 1_000);
    },
    read: async (): Promise<readonly Series[]> => {
      await read();
      return scrape(registry);
    },
  };
}

const openReadingOf = (t: ExecutionContext, { config }: TestVault) =>
  openReading(t, config.database);

test('the log, the marks and the keys are read from the database', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  const reading = await openReadingOf(t, vault);
  const series = await until(
    async () => {
      const found = await reading.read();
      return valueOf(found, 'probatio_mark_age_seconds') !== undefined && found;
    },
    { what: 'a high-water mark', timeoutMs: 60_000 },
  );
  t.true(Number(valueOf(series, 'probatio_audit_sealed_entries')) >= 3);
  t.true(Number(valueOf(series, 'probatio_mark_age_seconds')) < fifteenMinutes);
  t.is(valueOf(series, 'probatio_dead_letters'), 0);
  t.is(valueOf(series, 'probatio_dead_letter_oldest_age_seconds'), 0);
  for (const purpose of ['audit', 'token']) {
    t.is(valueOf(series, 'probatio_signing_keys', { purpose, state: 'ACTIVE' }), 1);
    const age = valueOf(series, 'probatio_signing_key_age_seconds', { purpose });
    t.true(Number(age) >= 0);
  }
  t.true(Number(valueOf(series, 'probatio_encryption_key_age_seconds')) >= 0);
  t.true(Number(valueOf(series, 'probatio_readings_timestamp_seconds')) > 0);
});

test('entries that wait and dead letters are counted, with the ages of the oldest', async (t) => {
  const signer = await createOwnSigner();
  t.teardown(() => signer.remove());
  await signer.start();
  const vault = await startReadyVault({ SIGNER_SOCKET_PATH: signer.socketPath });
  t.teardown(() => vault.stop());
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  await signer.kill();
  await storeDocument(t, api);
  const reading = await openReadingOf(t, vault);
  const series = await reading.read();
  t.true(Number(valueOf(series, 'probatio_audit_unsealed_entries')) >= 2);
  const sql = createSql(vault);
  await sql(
    `insert into audit_dead_letters (entry_id, reason, attempts, created_at)
     select id, 'not_canonical', 5, now() - interval '15 minutes' from audit_entries limit 1`,
  );
  const later = await reading.read();
  t.is(valueOf(later, 'probatio_dead_letters'), 1);
  t.true(Number(valueOf(later, 'probatio_dead_letter_oldest_age_seconds')) >= fifteenMinutes);
});

test('side effects and jobs are counted by kind and state', async (t) => {
  const vault = await startVault({ APP_ROLES: 'api' });
  t.teardown(() => vault.stop());
  const reading = await openReadingOf(t, vault);
  const nothing = await reading.read();
  t.is(valueOf(nothing, 'probatio_outbox_messages', { kind: 'email' }), 0);
  t.is(valueOf(nothing, 'probatio_outbox_oldest_age_seconds', { kind: 'email' }), 0);
  const sql = createSql(vault);
  const add = (kind: string, attempts: number, availableAt: string) =>
    sql(
      `insert into outbox (id, kind, payload, attempts, available_at, created_at)
       values ($1, $2, '{}', $3, now() + $4::interval, now() - interval '15 minutes')`,
      [randomUUID(), kind, attempts, availableAt],
    );
  await add('email', 0, '0');
  await add('email', 3, '10 minutes');
  await add('account.sweep', 0, '10 minutes');
  await add('of a later version', 0, '0');
  // A parked message waits for `drain-outbox`, not for a worker.
  await add('mfa.forget', 20, '0');
  await sql("update outbox set parked_at = now() where kind = 'mfa.forget'");
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, payload, request_id)
     values ($1, $1, 'default', 'DOCUMENT_FIXITY', '{}', $1)`,
    [randomUUID()],
  );
  const series = await reading.read();
  t.is(valueOf(series, 'probatio_outbox_messages', { kind: 'email' }), 2);
  const age = valueOf(series, 'probatio_outbox_oldest_age_seconds', { kind: 'email' });
  t.true(Number(age) >= fifteenMinutes);
  t.is(valueOf(series, 'probatio_outbox_messages', { kind: 'account.sweep' }), 0);
  t.is(valueOf(series, 'probatio_outbox_messages', { kind: 'mfa.forget' }), 0);
  t.is(valueOf(series, 'probatio_outbox_parked_messages', { kind: 'mfa.forget' }), 1);
  t.is(valueOf(series, 'probatio_outbox_parked_messages', { kind: 'email' }), 0);
  t.is(valueOf(series, 'probatio_outbox_messages', { kind: '_OTHER' }), 1);
  t.is(valueOf(series, 'probatio_jobs', { state: 'pending' }), 1);
  t.is(valueOf(series, 'probatio_jobs', { state: 'failed' }), 0);
});

test('the last success of each task is read, without failures and dry runs', async (t) => {
  const vault = await startVault({ APP_ROLES: 'api' });
  t.teardown(() => vault.stop());
  const reading = await openReadingOf(t, vault);
  const name = 'probatio_maintenance_last_success_timestamp_seconds';
  t.is(valueOf(await reading.read(), name, { task: 'purge-jobs' }), 0);
  const sql = createSql(vault);
  const add = (endedAt: number | null, error: string | null, isDry: boolean) =>
    sql(
      `insert into maintenance_runs
         (id, task, dry_run, requested_by, started_at, ended_at, error, held_until)
       values ($1, 'purge-jobs', $4, 'test', now(), to_timestamp($2), $3,
         case when $2::float8 is null then now() end)`,
      [uuidv7(), endedAt, error, isDry],
    );
  await add(1_000, null, false);
  await add(2_000, null, false);
  await add(3_000, 'internal_error', false);
  await add(4_000, null, true);
  await add(null, null, false);
  const series = await reading.read();
  t.is(valueOf(series, name, { task: 'purge-jobs' }), 2_000);
  t.is(valueOf(series, name, { task: 'verify-log' }), 0);
});

test('values remain for a minute while Postgres is away, and then there are none', async (t) => {
  await using database = await startProxiedDatabase();
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = database.settings;
  const reading = await openReading(t, { url, serviceUrl });
  const isRead = ({ name }: Series) => reading.names.has(name);
  const known = (await reading.read()).filter(isRead);
  t.true(known.length > 10);
  await database.proxy.close();
  reading.pass(59);
  const soon = await reading.read();
  t.is(valueOf(soon, 'probatio_readings_failed_total'), 1);
  t.is(valueOf(soon, 'probatio_audit_unsealed_entries'), 0);
  reading.pass(2);
  const late = await reading.read();
  t.is(valueOf(late, 'probatio_readings_failed_total'), 2);
  t.deepEqual(late.filter(isRead), []);
  t.is(reading.logLines.length, 1, 'one line, however long it takes');
});

test('every replica that is scraped tells the same', async (t) => {
  const vault = await startReadyVault({ METRICS_PORT: '0' });
  t.teardown(() => vault.stop());
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  const replicas = [newMetrics(), newMetrics()];
  for (const metrics of replicas) {
    const services = await startServices(vault.config, createLog('silent'), metrics);
    t.teardown(() => services.stop());
  }
  const [one, other] = await Promise.all(replicas.map(({ registry }) => readingsOf(registry)));
  t.true(Number(one?.size) > 10);
  t.deepEqual(one, other);
});

/** Polls for the readings of a replica, but those that change by the moment. */
function readingsOf(registry: Registry): Promise<ReadonlyMap<string, number>> {
  const lasting = /^probatio_(?:signing_keys|jobs|outbox_messages|dead_letters)$/;
  return until(
    async () => {
      const found = (await scrape(registry)).filter(({ name }) => lasting.test(name));
      return found.length > 0 && new Map(found.map((series) => [keyOf(series), series.value]));
    },
    { what: 'the readings of a replica', timeoutMs: 60_000 },
  );
}

test('a process that is not scraped reads nothing', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const series = await scrape(vault.services.metrics.registry);
  t.is(valueOf(series, 'probatio_audit_unsealed_entries'), undefined);
});
