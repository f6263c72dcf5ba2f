import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

const everyMs = 100;

/** A lock as it was seen for the longest. */
interface SeenLock {
  readonly ms: number;
  readonly text: string;
}

export interface LockWatch {
  /** Resolves with the locks that were held or waited for longest, one of each kind and mode. */
  stop(): Promise<{
    readonly samples: number;
    readonly held: readonly SeenLock[];
    readonly waited: readonly SeenLock[];
  }>;
}

/**
 * Every lock that a session waits for, and those that are held on whole tables against their
 * writers. Nobody else sees a table that its transaction has just made, and it is left out. An
 * index that is built concurrently waits for transactions, by their virtual ids, and nobody waits
 * behind it.
 */
const sample = `
  select l.pid || ' ' || l.virtualtransaction || ' ' || coalesce(l.relation, 0) || l.mode as id,
    l.granted as "isHeld", l.locktype as type, l.mode, coalesce(c.relname, '') as relation,
    extract(epoch from clock_timestamp())::float8 * 1000 as now,
    coalesce(extract(epoch from clock_timestamp() - l.waitstart)::float8 * 1000, 0) as waited,
    left(regexp_replace(a.query, '\\s+', ' ', 'g'), 100) as query
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
    left join pg_class c on c.oid = l.relation
  where l.pid <> pg_backend_pid() and l.database = (
      select oid from pg_database where datname = current_database()) and (
    not l.granted and l.locktype <> 'virtualxid'
    or c.oid is not null
      and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
  union all
  select l.pid || ' ' || coalesce(l.transactionid::text, ''), false, l.locktype, l.mode, '', 0,
    coalesce(extract(epoch from clock_timestamp() - l.waitstart)::float8 * 1000, 0),
    left(regexp_replace(a.query, '\\s+', ' ', 'g'), 100)
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where not l.granted and l.locktype = 'transactionid'`;

interface Sampled {
  readonly id: string;
  readonly isHeld: boolean;
  readonly type: string;
  readonly mode: string;
  readonly relation: string;
  readonly now: number;
  readonly waited: number;
  readonly query: string;
}

/** Samples the locks of a database every 100 ms. */
export async function watchLocks(adminUrl: string): Promise<LockWatch> {
  const client = new Client({ connectionString: adminUrl });
  // The event can be ignored: the next statement on a broken connection fails.
  client.on('error', () => undefined);
  await client.connect();
  const held = new Map<string, SeenLock>();
  const waited = new Map<string, SeenLock>();
  const stopping = new AbortController();
  let firstSeen = new Map<string, number>();
  let samples = 0;

  function note(
    longest: Map<string, SeenLock>,
    { type, mode, relation, query }: Sampled,
    ms: number,
  ) {
    const what = `${mode} of ${type} ${relation}`;
    if ((longest.get(what)?.ms ?? -1) < ms) {
      longest.set(what, { ms, text: `${what} for ${Math.round(ms)} ms: ${query}` });
    }
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      const { rows } = await client.query<Sampled>(sample);
      samples += 1;
      const seen = new Map<string, number>();
      for (const lock of rows) {
        if (lock.isHeld) {
          const since = firstSeen.get(lock.id) ?? lock.now;
          seen.set(lock.id, since);
          note(held, lock, lock.now - since);
        } else note(waited, lock, lock.waited);
      }
      firstSeen = seen;
      await delay(everyMs);
    }
  }

  const watching = watch();
  // The error is thrown by `stop`.
  watching.catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await watching;
      await client.end();
      return { samples, held: [...held.values()], waited: [...waited.values()] };
    },
  };
}
