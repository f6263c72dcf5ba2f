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

/** The removal of the seal of an entry. */
const unseal = 'unsealed as (delete from audit_seals where entry_id = $1)';

/** Statements that turn a sealed entry into each other state an entry can have. */
export const become = {
  pending: `with ${unseal}
    insert into audit_queue (entry_id, user_id, is_tallied, claim_id, claimed_until)
    select id, user_id, false, gen_random_uuid(), now() + interval '1 day'
    from audit_log where id = $1`,
  dead: `with ${unseal}
    insert into audit_dead_letters (entry_id, reason, attempts) values ($1, 'not_an_entry', 5)`,
  abandoned: `with ${unseal}
    insert into audit_dead_letters (entry_id, reason, attempts, status, ended_at, tombstone_id)
    values ($1, 'not_an_entry', 5, 'ABANDONED', now(), '018f0000-0000-7000-8000-00000000dead')`,
  erased: 'update audit_log set canonical = null, erased_at = now() where id = $1',
} as const;
