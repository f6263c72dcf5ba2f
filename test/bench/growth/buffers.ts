import { Client } from 'pg';
import { asAdmin, type DatabaseAccess } from '../../../app/dev/postgres/database.ts';

/**
 * The buffers that each execution of a statement read or wrote, by the text of the statement. Those
 * of a statement that writes a batch are divided by the number of its rows.
 */
export type Buffers = ReadonlyMap<string, readonly number[]>;

interface Explained {
  readonly 'Query Text': string;
  readonly Plan: Plan & {
    readonly 'Shared Hit Blocks': number;
    readonly 'Shared Read Blocks': number;
  };
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly Plans?: readonly Plan[];
}

/** Returns the number of rows that a plan wrote to the table to which it wrote most, at least 1. */
function writtenRows({ 'Node Type': type, Plans: inner = [] }: Plan): number {
  const written = type === 'ModifyTable' ? inner.map((plan) => plan['Actual Rows']) : [];
  return Math.max(1, ...written, ...inner.map(writtenRows));
}

/**
 * Prepares Postgres to explain what it executes. Connections that are opened from now on can be
 * measured: auto_explain sends them the plan of each statement as a notice.
 */
export async function prepareExplaining(access: DatabaseAccess): Promise<void> {
  await configure(access, {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '-1',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
  });
}

/** Collects the buffers of all statements that this thread sends during `work`, by database. */
export async function measureBuffers(
  access: DatabaseAccess,
  watch: NoticeWatch,
  work: () => Promise<void>,
): Promise<ReadonlyMap<string, Buffers>> {
  watch.take();
  await configure(access, { 'auto_explain.log_min_duration': '0' });
  await work();
  await configure(access, { 'auto_explain.log_min_duration': '-1' });
  return watch.take();
}

interface NoticeWatch extends Disposable {
  /** Returns what was told since the last call. */
  take(): ReadonlyMap<string, Buffers>;
}

/** Watches the notices on all connections that this thread opens from now on. */
export function watchNotices(): NoticeWatch {
  let found = new Map<string, Map<string, number[]>>();
  const connect = Reflect.get(Client.prototype, 'connect');
  Reflect.set(Client.prototype, 'connect', function watched(this: Client, ...rest: unknown[]) {
    this.on('notice', ({ message = '' }) => {
      const start = message.indexOf('plan:\n');
      if (start !== -1)
        note(this.database ?? '', JSON.parse(message.slice(start + 6)) as Explained);
    });
    return Reflect.apply(connect, this, rest) as unknown;
  });

  function note(database: string, { 'Query Text': text, Plan: plan }: Explained): void {
    const ofDatabase = found.get(database) ?? new Map<string, number[]>();
    const counts = ofDatabase.get(text) ?? [];
    const buffers = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    counts.push(buffers / writtenRows(plan));
    found.set(database, ofDatabase.set(text, counts));
  }

  return {
    take() {
      const taken = found;
      found = new Map();
      return taken;
    },
    [Symbol.dispose]: () => void Reflect.set(Client.prototype, 'connect', connect),
  };
}

/** Changes settings of Postgres, also for the connections that are open. */
async function configure(access: DatabaseAccess, settings: Readonly<Record<string, string>>) {
  await asAdmin(access, async (client) => {
    await client.query("load 'auto_explain'");
    for (const [name, value] of Object.entries(settings)) {
      await client.query(`alter system set ${name} = ${client.escapeLiteral(value)}`);
    }
    await client.query('select pg_reload_conf()');
  });
}
