import { until } from '../../../app/dev/processes/until.ts';
import { send, type JsonAnswer } from '../http/send.ts';
import { createKeyFile, type KeyFile } from './key-file.ts';
import { createSql, type Sql } from './sql.ts';
import { startVault, type TestVault } from './vault.ts';

export type Task =
  | 'expire-uploads'
  | 'expire-documents'
  | 'collect-garbage'
  | 'drain-outbox'
  | 'purge-jobs'
  | 'verify-log'
  | 'reencrypt'
  | 'verify-files';

/** A vault with an internal API key, and the operations of a CronJob on it. */
export interface MaintenanceVault {
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly keys: KeyFile;
  /** Resolves with the response, whatever its status is. */
  run(task: Task, query?: string): Promise<JsonAnswer>;
  /** Resolves with the counts of the report. Throws unless the task succeeded. */
  counts(task: Task, query?: string): Promise<Record<string, unknown>>;
  /** Waits until the outbox is empty. */
  untilDone(): Promise<void>;
  stop(): Promise<void>;
}

export async function startMaintenanceVault(
  settings: NodeJS.ProcessEnv = {},
): Promise<MaintenanceVault> {
  const keys = await createKeyFile();
  const vault = await startVault({ INTERNAL_API_KEYS_FILE: keys.path, ...settings });
  const headers = { 'X-Internal-Api-Key': keys.admin };
  const sql = createSql(vault);
  const run = (task: Task, query = '') =>
    send('POST', `${vault.baseUrl}/v1/internal/maintenance/${task}${query}`, { headers });
  return {
    vault,
    sql,
    keys,
    run,
    async counts(task, query) {
      const { status, body, text } = await run(task, query);
      if (status !== 200) throw new Error(`${task}: ${status} ${text}`);
      const {
        dryRun: _,
        task: _task,
        startedAt: _started,
        completedAt: _completed,
        ...counts
      } = body as Record<string, unknown>;
      return counts;
    },
    async untilDone() {
      await until(async () => (await sql('select 1 from outbox')).length === 0, {
        what: 'the outbox to be empty',
        timeoutMs: 60_000,
      });
    },
    async stop() {
      await vault.stop();
      await keys.remove();
    },
  };
}

/** Returns the audit entries of a resource or of an action, with the fields that tests look at. */
export async function entriesOf(
  sql: Sql,
  where: { readonly resource: string } | { readonly action: string },
) {
  const [column, value] =
    'resource' in where ? ['resource_id', where.resource] : ['action', where.action];
  const rows = await sql(
    `select user_id, seq::int, canonical from audit_entries where ${column} = $1 order by id`,
    [value],
  );
  return rows.map(({ user_id, seq, canonical }) => {
    const { action, actor, data, resource } = JSON.parse(String(canonical)) as {
      action: string;
      actor: object;
      data: Record<string, unknown>;
      resource: { readonly id: string };
    };
    return { owner: user_id, seq, action, actor, data, resourceId: resource.id };
  });
}
