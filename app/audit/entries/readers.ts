import { sql, type CompiledQuery, type RawBuilder } from 'kysely';
import { reachOf } from '../../accounts/reach.ts';
import { nobody } from '../../audit-trail/event.ts';
import { firstIdOf } from '../../audit-trail/first-id.ts';
import { compileOnce } from '../../db/compile-once.ts';
import type { Database, Options, Owner, Tx } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';

/** The reader that sees the entries of all users, for maintenance. */
export const wholeLog = 'whole log';

/** A reader of entries: a caller, a job on behalf of a user, or maintenance. */
export type EntryReader = Pick<Caller, 'userId' | 'tenantId' | 'roles'> | typeof wholeLog;

/**
 * Runs `read` in a transaction that can see the entries of other users if the caller may. `read`
 * MUST query entries by `selectReadable`.
 */
export function asReader<T>(
  db: Database,
  caller: EntryReader,
  read: (tx: Tx) => Promise<T>,
  options?: Options,
): Promise<T> {
  return caller === wholeLog || reachOf(caller, 'audit') !== undefined
    ? db.asService(read, options)
    : db.asUser(caller, read, options);
}

const dayMs = 86_400_000;

/** Selects the entries that the caller may see: their own, or for auditors those in reach. */
export function selectReadable(tx: Tx, caller: EntryReader) {
  return selectWithin(tx, scopeOf(caller), caller === wholeLog ? nobody : caller);
}

/** The condition, on a column of entries, that they are of a trail that `selectTrails` selects. */
export const isOfTrail = sql<boolean>`trail_id = trail.id`;

/**
 * Selects the trails of a resource, of which each owner has one, that the caller may see. Join them
 * laterally with their entries, in a transaction that reads in the order of indexes: otherwise
 * Postgres may read all entries of the caller or of the trail.
 */
export function selectTrails(
  tx: Tx,
  caller: EntryReader,
  { type, id }: { readonly type?: string | undefined; readonly id: string },
) {
  const trails = tx
    .selectFrom('audit_trails as trail')
    .where('trail.resource_id', '=', id)
    .where(isWithin(scopeOf(caller), caller === wholeLog ? nobody : caller, 'trail'));
  return type === undefined ? trails : trails.where('trail.resource_type', '=', type);
}

/** Returns the resource of an entry, of which nobody knows more if its trail is missing. */
export function resourceOf(entry: {
  readonly resource_type: string | null;
  readonly resource_id: string | null;
}): { readonly type: string; readonly id: string } {
  return { type: entry.resource_type ?? 'unknown', id: entry.resource_id ?? 'unknown' };
}

/** Which entries a reader sees: their own, those of their tenant, or all. */
type Scope = 'owner' | 'tenant' | 'all';

function scopeOf(caller: EntryReader): Scope {
  if (caller === wholeLog) return 'all';
  const reach = reachOf(caller, 'audit');
  if (reach === undefined) return 'owner';
  return reach === 'all tenants' ? 'all' : 'tenant';
}

function selectWithin(tx: Tx, scope: Scope, owner: Owner) {
  return tx
    .selectFrom('audit_entries')
    .where('id', '<', sql<string>`${sql.lit(endOfLog())}::uuid`)
    .where(isWithin(scope, owner, 'audit_entries'));
}

/** Returns the condition that a row is in scope. Its table must have user and tenant. */
function isWithin(scope: Scope, { userId, tenantId }: Owner, table: string): RawBuilder<boolean> {
  if (scope === 'all') return sql<boolean>`true`;
  const ofTenant = sql<boolean>`${sql.ref(`${table}.tenant_id`)} = ${tenantId}`;
  if (scope === 'tenant') return ofTenant;
  return sql<boolean>`${ofTenant} and ${sql.ref(`${table}.user_id`)} = ${userId}`;
}

/**
 * Returns a function that sends a statement about the entries that a caller may see. It is compiled
 * once, as by `compileOnce`, for each kind of reader and each month.
 * @param build Returns the compiled statement, which selects from `entries`.
 */
export function compileReading<Values extends object, Row>(
  build: (entries: ReturnType<typeof selectReadable>, values: Values) => CompiledQuery<Row>,
): (tx: Tx, caller: EntryReader, values: Values) => Promise<Row[]> {
  const compiled = new Map<string, (tx: Tx, values: Values & Owner) => Promise<Row[]>>();
  return (tx, caller, values) => {
    const scope = scopeOf(caller);
    const key = `${scope} ${endOfLog()}`;
    let send = compiled.get(key);
    if (send === undefined) {
      send = compileOnce((all, db) => build(selectWithin(db, scope, all), all));
      compiled.set(key, send);
    }
    const { userId, tenantId } = caller === wholeLog ? nobody : caller;
    return send(tx, { ...values, userId, tenantId });
  };
}

/**
 * Returns an id that is above those of all entries: the first of a month. As a literal in a
 * statement it keeps the partitions of later months, which are empty, out of the plan: with them
 * Postgres sorts all entries of a user rather than read the newest by the index.
 */
function endOfLog(): string {
  // The clocks of processes differ by seconds.
  const soon = new Date(Date.now() + dayMs);
  return firstIdOf(new Date(Date.UTC(soon.getUTCFullYear(), soon.getUTCMonth() + 1)));
}
