import { randomBytes, randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { until } from '../../../app/dev/processes/until.ts';
import { inventEntry } from '../harness/audit-entry.ts';
import { pretendAllSealed } from '../harness/pretended-seals.ts';
import { appending } from '../../support/audit/log-rows.ts';

const rowsPerStatement = 2_000;
const userId = randomUUID();

/** An entry as the trail writes it, each for a different resource. */
interface BenchEntry {
  readonly id: string;
  readonly resourceId: string;
  readonly text: string;
}

export function inventEntries(count: number): BenchEntry[] {
  return Array.from({ length: count }, () => {
    const [id, resourceId] = [uuidv7(), randomUUID()];
    const entry = inventEntry({
      id,
      userId,
      action: 'upload.completed',
      resource: { type: 'upload', id: resourceId },
      seq: 1,
      data: { fileSize: 1_048_576, totalParts: 4, fileHash: randomBytes(32).toString('hex') },
    });
    return { id, resourceId, text: canonicalize(entry) ?? '' };
  });
}

export interface Backlog extends AsyncDisposable {
  /**
   * Resolves with the entries sealed per second, from the commit that makes them visible to the
   * last seal. The first one, which is sealed before, is not among them.
   */
  seal(entries: readonly BenchEntry[]): Promise<number>;
  /**
   * Resolves with the milliseconds until an entry of another owner is sealed that is committed
   * behind these entries. Waits until all are sealed.
   */
  waitBehind(entries: readonly BenchEntry[]): Promise<number>;
  empty(): Promise<void>;
  /** Fills the table with sealed entries up to `total`. */
  fill(total: number): Promise<void>;
  /** The public audit key as SPKI DER in base64. */
  publicKey(): Promise<string>;
}

/** @param url Database URL of a login that bypasses row-level security. */
export async function openBacklog(url: string): Promise<Backlog> {
  const client = new Client({ connectionString: url });
  const other = new Client({ connectionString: url });
  await Promise.all([client.connect(), other.connect()]);
  const one = async <T>(text: string, values: unknown[] = []) =>
    (await other.query<{ value: T }>(text, values)).rows[0]?.value;

  async function insert(
    entries: readonly BenchEntry[],
    { ownerId = userId, by = client } = {},
  ): Promise<void> {
    for (let start = 0; start < entries.length; start += rowsPerStatement) {
      const rows = entries.slice(start, start + rowsPerStatement);
      await by.query(
        appending(`
         select e.id, $4, 'default', 'upload', e.resource_id, 1, 'upload.completed', e.text
         from unnest($1::uuid[], $2::text[], $3::text[]) as e (id, resource_id, text)`),
        [
          rows.map(({ id }) => id),
          rows.map(({ resourceId }) => resourceId),
          rows.map(({ text }) => text),
          ownerId,
        ],
      );
    }
  }

  async function untilSealed(): Promise<void> {
    const waiting = `select exists (select from audit_queue) as value`;
    await until(async () => (await one<boolean>(waiting)) !== true, {
      what: 'the last seal',
      timeoutMs: 300_000,
      intervalMs: 100,
    });
  }

  return {
    async seal([first, ...entries]) {
      if (first === undefined) throw new Error('there is nothing to seal');
      await client.query('begin');
      await insert(entries);
      // A sealer that finds nothing looks less and less often, unless its own process appends.
      await insert([first], { by: other });
      await untilSealed();
      await client.query('commit');
      const startedAt = await one<Date>('select clock_timestamp() as value');
      await untilSealed();
      const seconds = await one<number>(
        `select extract(epoch from max(sealed_at) - $2)::float8 as value
         from audit_entries where id = any($1::uuid[])`,
        [entries.map(({ id }) => id), startedAt],
      );
      return entries.length / (seconds ?? Number.NaN);
    },

    async waitBehind(entries) {
      await client.query('begin');
      await insert(entries);
      await client.query('commit');
      const late = inventEntries(1);
      await insert(late, { ownerId: randomUUID() });
      await untilSealed();
      const ms = await one<number>(
        `select (extract(epoch from sealed_at - created_at) * 1000)::float8 as value
         from audit_entries where id = any($1::uuid[])`,
        [late.map(({ id }) => id)],
      );
      return ms ?? Number.NaN;
    },

    async empty() {
      await client.query('truncate audit_log, audit_queue, audit_seals');
    },

    async fill(total) {
      await client.query(
        appending(`
         select uuidv7(interval '-1 day'),
           md5((i % 1000)::text)::uuid, 'default', 'upload', i::text, 1, 'upload.completed',
           repeat(md5(i::text), 16)
         from generate_series((select count(*) + 1 from audit_log), $1::bigint) as i`),
        [total],
      );
      await pretendAllSealed(client);
      await client.query('vacuum analyze audit_log, audit_trails, audit_seals, audit_queue');
    },

    publicKey: async () =>
      (await one<string>(
        `select public_key as value from signing_keys where purpose = 'audit' and state = 'ACTIVE'`,
      )) ?? '',

    async [Symbol.asyncDispose]() {
      await Promise.all([client.end(), other.end()]);
    },
  };
}
