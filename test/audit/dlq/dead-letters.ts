import type { ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createKeyFile, type KeyFile } from '../../support/vault/key-file.ts';
import { createApi, type Answer, type Api } from '../../support/documents/uploads.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import type { TestStack } from '../../support/vault/stack.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { openTrail, type TestTrail } from '../../support/audit/entries.ts';
import { appendSpoilt, putInDlq } from '../../support/audit/unsealed.ts';

/** A dead entry in the queue, with the canonical text that it had before it was corrupted. */
export interface Dead {
  readonly id: string;
  readonly resourceId: string;
  readonly text: string;
}

/** A vault whose dead letters a test creates, repairs and retries. */
export interface DlqVault {
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly keys: KeyFile;
  readonly open: TestTrail;
  readonly operator: Api;
  ask(method: string, path: string): Promise<Answer>;
  /** Appends entries of separate resources, corrupted and dead as after five attempts. */
  kill(count: number, reason?: string): Promise<Dead[]>;
  killOne(): Promise<Dead>;
  /** Restores the original text of a dead entry, so that the next retry succeeds. */
  mend(dead: Dead): Promise<void>;
  /** Returns the state of the entry together with that of its dead letter. */
  stateOf(id: string): Promise<Record<string, unknown> | undefined>;
  /** Returns the audit entries that were recorded about a dead entry, oldest first. */
  recordsOf(id: string): Promise<Entry[]>;
  untilSealed(): Promise<void>;
}

export interface Entry {
  readonly id: string;
  readonly action: string;
  readonly actor: object;
  readonly outcome: string;
  readonly resource: { readonly owner: string };
  readonly data: Readonly<Record<string, unknown>>;
}

const spoilt = (id: string) => `{"b":1,"a":2,"id":"${id}"}`;

export async function startDlqVault(
  t: Pick<ExecutionContext, 'teardown'>,
  settings: NodeJS.ProcessEnv = {},
  stack?: TestStack,
): Promise<DlqVault> {
  const keys = await createKeyFile();
  t.teardown(() => keys.remove());
  const vault = await startVault({ INTERNAL_API_KEYS_FILE: keys.path, ...settings }, stack);
  t.teardown(() => vault.stop());
  const operator = await createApi(vault, { roles: ['operator'] });
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const sql = createSql(vault);
  async function kill(count: number, reason = 'not_canonical'): Promise<Dead[]> {
    const dead: Dead[] = [];
    for (let i = 0; i < count; i += 1) dead.push(await appendSpoilt(open, sql, spoilt));
    await putInDlq(
      sql,
      dead.map(({ id }) => id),
      reason,
    );
    return dead;
  }
  return {
    vault,
    sql,
    keys,
    open,
    operator,
    ask: (method, path) => operator.send(method, `/v1/audit/proof/dlq/${path}`),

    kill,
    async killOne() {
      const [dead] = await kill(1);
      if (dead === undefined) throw new Error('no dead entry was created');
      return dead;
    },

    async mend({ id, text }) {
      await sql('update audit_log set canonical = $2 where id = $1', [id, text]);
    },

    stateOf: async (id) =>
      (
        await sql(
          `select e.state, l.claim_id, l.attempts, l.status, l.tombstone_id
           from audit_entries e join audit_dead_letters l on l.entry_id = e.id where e.id = $1`,
          [id],
        )
      )[0],

    recordsOf: async (id) =>
      (
        await sql(
          `select canonical from audit_entries
           where resource_type = 'audit_entry' and resource_id = $1 order by seq`,
          [id],
        )
      ).map(({ canonical }) => JSON.parse(String(canonical)) as Entry),

    async untilSealed() {
      const waiting = `select 1 from audit_entries where state = 'PENDING'`;
      await until(async () => (await sql(waiting)).length === 0, {
        what: 'the entries to be sealed',
        timeoutMs: 60_000,
      });
    },
  };
}
