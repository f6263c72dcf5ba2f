import { sql } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';

/** Longer than any process takes to hear of a revoked session. */
const revokedForSeconds = 10;

/** What stays in the tenant that it happened in. */
const mayStay: readonly string[] = [
  'audit_entries',
  'audit_sequences',
  'audit_tallies',
  'idempotency_keys',
  'login_sessions',
];

/**
 * Moves an account, which the caller has locked, to another tenant. Row-level security would hide
 * from it all that it left behind, so it must own nothing in any other tenant and be logged in
 * nowhere. Its audit entries stay where they happened, and their numbers go on in both tenants: a dead
 * entry may yet be retried in the one it is of. Throws an error that says what is in the way.
 */
export async function moveToTenant(tx: Tx, userId: string, tenantId: string): Promise<void> {
  const left = await findLeftBehind(tx, { userId, tenantId });
  if (left.length > 0) {
    throw new Error(`the account would lose what it owns in its tenant: ${left.join(', ')}`);
  }
  if (await mayBeLoggedIn(tx, userId)) {
    throw new Error(
      `the account is or was just logged in: revoke its --sessions, wait ${revokedForSeconds} s and try again`,
    );
  }
  await sql`
    insert into audit_sequences (user_id, tenant_id, resource_type, resource_id, last_seq)
    select user_id, ${tenantId}, resource_type, resource_id, max(last_seq)
    from (select * from audit_sequences where user_id = ${userId} for update) as of_user
    group by user_id, resource_type, resource_id
    on conflict (user_id, tenant_id, resource_type, resource_id)
      do update set last_seq = excluded.last_seq`.execute(tx);
  await tx.updateTable('accounts').set({ tenant_id: tenantId }).where('id', '=', userId).execute();
}

/** Asks every table that has owners, so that a new one cannot be forgotten. */
async function findLeftBehind(tx: Tx, { userId, tenantId }: Owner): Promise<string[]> {
  const left: string[] = [];
  for (const table of await listOwnedTables(tx)) {
    const { rows } = await sql`
      select 1 from ${sql.table(table)}
      where user_id = ${userId} and tenant_id <> ${tenantId} limit 1`.execute(tx);
    if (rows.length > 0) left.push(table);
  }
  return left;
}

async function listOwnedTables(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name in ('user_id', 'tenant_id')
      and table_name <> all(${mayStay})
    group by table_name having count(*) = 2 order by table_name`.execute(tx);
  return rows.map(({ name }) => name);
}

async function mayBeLoggedIn(tx: Tx, userId: string): Promise<boolean> {
  const session = await tx
    .selectFrom('login_sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where((eb) =>
      eb.or([
        eb.and([eb('revoked_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]),
        eb('revoked_at', '>', sql<Date>`now() - make_interval(secs => ${revokedForSeconds})`),
      ]),
    )
    .executeTakeFirst();
  return session !== undefined;
}
