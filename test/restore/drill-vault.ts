import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import { loadConfig } from '../../app/config/config.ts';
import { openDatabase } from '../../app/db/database.ts';
import { createDatabase, databaseUrls, dropDatabase } from '../../app/dev/postgres/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { acceptMark } from '../../app/restore/acceptances.ts';
import { parseMarkText } from '../../app/restore/high-water-marks/mark.ts';
import {
  createMarkObjects,
  type MarkObjects,
} from '../../app/restore/high-water-marks/mark-objects.ts';
import { startServices, type Services } from '../../app/wiring/services.ts';
import { createObjectStore } from '../../app/storage/create-store.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { eventOf } from '../support/audit/entries.ts';
import { newMetrics } from '../support/metrics/new-metrics.ts';
import { withoutLimits } from '../support/vault/without-limits.ts';
import { testStack } from '../support/vault/stack.ts';
import { storeObject } from '../support/documents/stored.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';

/** The parts from which a vault is started; each may come from another moment. */
export interface Parts {
  /** The name of a database to copy. */
  readonly database: string;
  /** The path of a directory to copy; undefined for an empty store. */
  readonly store: string | undefined;
  /** The socket of the signer on the token. */
  readonly token: string;
}

/** Copies of the parts, on which vaults can be started. */
export interface DrillVault {
  readonly sql: Sql;
  readonly database: string;
  readonly storeDirectory: string;
  readonly objects: MarkObjects;
  /** Stores an object that no row refers to. */
  store(key: string, text?: string): Promise<void>;
  /**
   * Resolves once a mark covers all sealed entries and the database knows it: a vault that stops
   * waits for its last mark for a short time only.
   */
  untilMarked(): Promise<void>;
  /** Environment variables for separate processes. */
  readonly environment: Record<string, string>;
  /** Accepts what a refused start named by this mark, as `probatio restored --accept` does. */
  accept(markId: string): Promise<void>;
  /** Starts a vault. Rejects with StartRefused. */
  start(settings?: Record<string, string>): Promise<RunningVault>;
}

export interface RunningVault {
  readonly services: Services;
  readonly logLines: readonly string[];
  /** Appends entries of one resource; resolves once they are signed. */
  seal(count: number): Promise<void>;
  /** Appends entries of one resource without waiting for their signatures. */
  append(count: number): Promise<void>;
  stop(): Promise<void>;
}

type Teardown = Pick<ExecutionContext, 'teardown'>;

export async function createDrillVault(t: Teardown, parts: Parts): Promise<DrillVault> {
  const { postgres, redisUrl } = testStack();
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-drill-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const storeDirectory = path.join(directory, 'objects');
  if (parts.store !== undefined) await cp(parts.store, storeDirectory, { recursive: true });
  const database = `drill_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, database, parts.database);
  t.teardown(() => dropDatabase(postgres, database));
  const databases = databaseUrls(postgres, database);
  const environment = {
    NODE_ENV: 'test',
    PORT: '0',
    HTTP_PUBLIC_URL: 'http://vault.test',
    DATABASE_URL: databases.app,
    DATABASE_SERVICE_URL: databases.service,
    REDIS_URL: redisUrl,
    STORAGE_DIRECTORY: storeDirectory,
    SIGNER_SOCKET_PATH: parts.token,
    MAIL_DIRECTORY: directory,
    KEYS_PUBLISH_SECONDS: '0',
    MAINTENANCE_GARBAGE_GRACE_HOURS: '0',
    ...withoutLimits,
  };
  const sql = createSql({ databases });
  const store = await createObjectStore({ driver: 'filesystem', directory: storeDirectory });
  t.teardown(() => store.close());
  const objects = createMarkObjects(store);
  return {
    sql,
    database,
    storeDirectory,
    objects,
    untilMarked: () => untilMarked(sql, objects),
    store: async (key, text = 'bytes') => void (await storeObject(store, [Buffer.from(text)], key)),
    environment,
    async accept(markId) {
      const { service } = databases;
      const db = await openDatabase({ url: service, serviceUrl: service, poolSize: 1 });
      try {
        await db.asService((tx) => acceptMark(tx, markId));
      } finally {
        await db.close();
      }
    },
    start: async (settings = {}) => {
      const running = await startOn({ ...environment, ...settings }, sql);
      t.teardown(() => running.stop());
      return running;
    },
  };
}

async function startOn(environment: Record<string, string>, sql: Sql): Promise<RunningVault> {
  const config = loadConfig(environment);
  const logLines: string[] = [];
  const log = createLog('info', { write: (line) => void logLines.push(line) });
  const services = await startServices(config, log, newMetrics());
  const db = await openDatabase(config.database);
  const owner = { userId: randomUUID(), tenantId: 'default' };
  const append = async (count: number) => {
    for (let number = 0; number < count; number += 1) {
      await db.asUser(owner, (tx) => services.audit.append(tx, eventOf(owner, owner.userId)));
    }
  };
  let stopped: Promise<void> | undefined;
  return {
    services,
    logLines,
    append,
    async seal(count) {
      await append(count);
      await untilAllSealed(sql);
    },
    stop: () => (stopped ??= Promise.all([services.stop(), db.close()]).then(() => undefined)),
  };
}

/** Returns the rows that a refused start must not change. */
export function tablesOf({ sql }: DrillVault) {
  return sql(`select (select json_agg(e) from audit_entries e) as entries,
    (select json_agg(k) from signing_keys k) as keys,
    (select json_agg(m) from audit_marks m) as marks,
    (select json_agg(a) from restore_acceptances a) as acceptances,
    (select json_agg(s) from sync_epochs s) as epochs,
    (select count(*)::int from outbox) as promised`);
}

/** Returns the id of the newest mark in the object store, or the nil UUID if there is none. */
export async function newestMark({ objects }: DrillVault): Promise<string> {
  const [newest = '00000000-0000-0000-0000-000000000000'] = await objects.list();
  return newest;
}

export async function untilAllSealed(sql: Sql): Promise<void> {
  const unsealed = `select 1 from audit_entries where state <> 'SEALED'`;
  await until(async () => (await sql(unsealed)).length === 0, {
    what: 'every entry to be sealed',
    timeoutMs: 60_000,
  });
}

/**
 * Ends the pause between two marks, and returns the newest mark and the number of sealed entries.
 */
const ageNewestMark = `update audit_marks set written_at = now() - interval '5 seconds'
  returning mark_id, (select sum(sealed)::int from audit_totals) as sealed`;

async function untilMarked(sql: Sql, objects: MarkObjects): Promise<void> {
  const isMarked = async () => {
    const [{ mark_id: id, sealed } = {}] = await sql(ageNewestMark);
    const proof = await objects.read(String(id));
    return proof !== undefined && parseMarkText(proof.entryCanonical)?.sealed === sealed;
  };
  await until(isMarked, { what: 'the mark', timeoutMs: 60_000, intervalMs: 100 });
}

/** Asserts that every sequence counts from 1 without a gap. */
export async function assertGapless(t: ExecutionContext, { sql }: DrillVault): Promise<void> {
  const gaps = await sql(
    `select resource_id from audit_entries group by user_id, resource_type, resource_id
     having count(*) <> max(seq)`,
  );
  t.deepEqual(gaps, []);
}
