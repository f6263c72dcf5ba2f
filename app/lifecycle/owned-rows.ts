import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { deletePage } from '../db/pages/delete-pages.ts';
import type { TableSchema } from '../db/schema.ts';

/** The tables whose rows name their owner by user and tenant. */
type OwnedTable = {
  [Table in keyof TableSchema]: TableSchema[Table] extends { user_id: unknown; tenant_id: unknown }
    ? Table
    : never;
}[keyof TableSchema];

interface Fate {
  /**
   * The fate of the rows when their owner's account is closed. `removeRows` removes the rows of
   * `keys` and `data` tables in the order of `fates`. A function of the table's own feature handles
   * the rows of `feature` tables. The rows of `kept` tables stay.
   */
  readonly closure: 'keys' | 'data' | 'feature' | 'kept';
  /**
   * Whether rows that would stay in another tenant forbid moving the account, which could no longer
   * see these rows.
   */
  readonly move: 'refused' | 'allowed';
}

const keys = { closure: 'keys', move: 'refused' } as const;
const data = { closure: 'data', move: 'refused' } as const;
const feature = { closure: 'feature', move: 'refused' } as const;
/** Audit entries stay in the tenant in which their actions happened. */
const log = { closure: 'kept', move: 'allowed' } as const;

/**
 * The fate of the rows of every table with owners. A new table does not compile until it has an
 * entry here, and a test compares the table names with the database.
 */
export const fates = {
  devices: keys,
  session_devices: keys,
  key_envelopes: keys,
  replaced_keys: keys,
  memory_records: keys,
  sender_blocks: data,
  // Removed by removeExports.
  evidence_exports: { closure: 'feature', move: 'allowed' },
  // Jobs end by themselves, and what they left in another tenant is purged.
  jobs: { closure: 'data', move: 'allowed' },
  sync_counters: data,
  sync_objects: data,
  sync_history: data,
  sync_requests: data,
  // Removed by removeUnsealed.
  documents: feature,
  document_versions: feature,
  document_keywords: feature,
  object_checks: feature,
  upload_sessions: feature,
  upload_parts: feature,
  // Removed by removeSharing.
  document_shares: feature,
  share_recipients: feature,
  sharing_keys: feature,
  // endSessions revokes login sessions. The rows are kept, so that the reuse of a refresh token is
  // detected.
  login_sessions: { closure: 'feature', move: 'allowed' },
  // The outbox removes the row together with the user at the identity provider.
  mfa_users: { closure: 'feature', move: 'allowed' },
  // These rows hold responses that are stored for 24 hours.
  idempotency_keys: { closure: 'kept', move: 'allowed' },
  // Triggers count the rows of the other tables here, and count down as these are removed.
  usage: { closure: 'kept', move: 'allowed' },
  audit_log: log,
  audit_trails: log,
  audit_tallies: log,
  // Each becomes an entry, also if its document is gone.
  downloads: log,
} as const satisfies Record<OwnedTable, Fate>;

type Counts = Readonly<Partial<Record<OwnedTable, number>>>;

const tables = Object.keys(fates) as OwnedTable[];

/**
 * Removes an owner's rows from the tables with the given `closure`, at most `limit` of each, and
 * none of those that follow a table with more. Resolves with the number of removed rows by table,
 * and whether more may be left.
 */
export async function removeRows(
  tx: Tx,
  owner: Owner,
  closure: 'keys' | 'data',
  limit = Infinity,
): Promise<{ readonly counts: Counts; readonly isMore: boolean }> {
  const counts: Partial<Record<OwnedTable, number>> = {};
  for (const table of tables.filter((name) => fates[name].closure === closure)) {
    const removed = await removeFrom(tx, table, owner, limit);
    counts[table] = removed;
    if (removed >= limit) return { counts, isMore: true };
  }
  return { counts, isMore: false };
}

function removeFrom(
  tx: Tx,
  table: OwnedTable,
  { userId, tenantId }: Owner,
  limit: number,
): Promise<number> {
  const where = sql<boolean>`user_id = ${userId}::uuid and tenant_id = ${tenantId}`;
  return deletePage(tx, { table, where }, Number.isFinite(limit) ? limit : undefined);
}

/**
 * Returns the names of the tables where a user has rows in other tenants than `tenantId`. These
 * rows forbid moving the user to `tenantId`.
 */
export async function findLeftBehind(tx: Tx, { userId, tenantId }: Owner): Promise<string[]> {
  const left: string[] = [];
  for (const table of tables.filter((name) => fates[name].move === 'refused')) {
    const row = await tx
      .selectFrom(table)
      .select('user_id')
      .where('user_id', '=', userId)
      .where('tenant_id', '<>', tenantId)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) left.push(table);
  }
  return left.toSorted();
}
