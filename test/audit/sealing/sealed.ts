import { until } from '../../../app/dev/processes/until.ts';
import type { Owner } from '../../../app/db/database.ts';
import type { Sql } from '../../support/vault/sql.ts';
import type { TestVault } from '../../support/vault/vault.ts';
import { appendEntries, openTrail } from '../../support/audit/entries.ts';

/**
 * Appends entries of this owner and waits for their signatures. Returns their ids, oldest first.
 */
export async function sealEntries(
  vault: TestVault,
  sql: Sql,
  owner: Owner,
  count: number,
): Promise<string[]> {
  const trail = await openTrail(vault, owner);
  try {
    const ids = await appendEntries(trail, count);
    await until(
      async () => {
        const [row] = await sql(
          `select count(*)::int as count from audit_entries
           where id = any($1) and state = 'SEALED'`,
          [ids],
        );
        return row?.count === count;
      },
      { what: `${count} signatures`, timeoutMs: 60_000 },
    );
    return ids;
  } finally {
    await trail.close();
  }
}

const unseal = 'hash = null, signature = null, key_id = null, sealed_at = null, late = false';

/** Statements that turn a sealed entry into each other state an entry can have. */
export const become = {
  pending: `update audit_entries set state = 'PENDING', ${unseal}, claim_id = gen_random_uuid(),
    claimed_until = now() + interval '1 day' where id = $1`,
  dead: `with letter as (
      insert into audit_dead_letters (entry_id, reason, attempts) values ($1, 'not_an_entry', 5)
    ) update audit_entries set state = 'DEAD', ${unseal} where id = $1`,
  abandoned: `with letter as (
      insert into audit_dead_letters (entry_id, reason, attempts, status, ended_at, tombstone_id)
      values ($1, 'not_an_entry', 5, 'ABANDONED', now(), '018f0000-0000-7000-8000-00000000dead')
    ) update audit_entries set state = 'ABANDONED', ${unseal} where id = $1`,
  erased: 'update audit_entries set canonical = null, erased_at = now() where id = $1',
} as const;
