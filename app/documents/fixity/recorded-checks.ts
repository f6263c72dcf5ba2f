import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { afterCommit } from '../../db/transaction.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { AuditEvent } from '../../audit-trail/event.ts';
import type { Log } from '../../telemetry/log.ts';
import { ownerOf } from '../records/document-rows.ts';
import type { StoredFile } from '../records/stored-files.ts';
import type { CheckedFile } from './file-check.ts';

/** Hours until the next attempt to read a file that could not be read. */
const unreadablePauseHours = 6;

/** The request that had files checked, as entries name it. */
interface CheckCause {
  /** The name of the internal API key of a maintenance task; null for a job. */
  readonly requestedBy: string | null;
  readonly requestId: string;
}

interface RecordOptions {
  readonly cause: CheckCause;
  readonly log: Log;
}

interface Recorded {
  /** The number of files whose versions still exist. */
  readonly count: number;
  /** The events of damages that were not known before. */
  readonly events: readonly AuditEvent[];
}

/**
 * Records what checks found, but nothing of versions that were removed meanwhile, whose objects are
 * removed as well. Each damage is logged once. `tx` must be a transaction of the service login.
 */
export async function recordChecks(
  tx: Tx,
  checked: readonly CheckedFile[],
  { cause, log }: RecordOptions,
): Promise<Recorded> {
  const byKey = new Map(checked.map((each) => [keyOf(each.file), each]));
  const keys = await lockVersions(
    tx,
    checked.map(({ file }) => file),
  );
  if (keys.length === 0) return { count: 0, events: [] };
  const kept = keys.flatMap((key) => byKey.get(keyOf(key)) ?? []);
  takesLock(tx, 'object check');
  const known = await findDamages(tx, keys);
  await upsertChecks(tx, kept);
  const found = kept.filter(
    ({ file, finding: { state } }) => state !== 'whole' && state !== known.get(keyOf(file)),
  );
  afterCommit(tx, () => {
    for (const { file, finding } of found) logDamage(log, file, finding);
  });
  return { count: kept.length, events: found.map((each) => failedEvent(each, cause)) };
}

/** Records that files could not be read, and puts off their next checks. */
export async function recordUnreadable(tx: Tx, files: readonly StoredFile[]): Promise<number> {
  const keys = await lockVersions(tx, files);
  if (keys.length === 0) return 0;
  takesLock(tx, 'object check');
  await tx
    .updateTable('object_checks')
    .set({
      unreadable_since: sql`coalesce(unreadable_since, now())`,
      available_at: sql`now() + make_interval(hours => ${unreadablePauseHours})`,
    })
    .where(isOneOf(keys))
    .execute();
  return keys.length;
}

type VersionKey = Pick<StoredFile, 'document_id' | 'version'>;

function keyOf({ document_id, version }: VersionKey): string {
  return `${document_id} ${version}`;
}

/** Returns the SQL condition that a row is of one of the versions. */
function isOneOf(keys: readonly VersionKey[]) {
  const tuples = keys.map((key) => sql`(${key.document_id}::uuid, ${key.version}::int)`);
  return sql<boolean>`(document_id, version) in (${sql.join(tuples)})`;
}

/**
 * Locks the documents of the versions, so that checks of a document are recorded one after the
 * other, and none of a document that is being removed. Returns the versions that exist, in the
 * order of their keys.
 */
async function lockVersions(tx: Tx, versions: readonly VersionKey[]): Promise<VersionKey[]> {
  if (versions.length === 0) return [];
  takesLock(tx, 'document');
  const ids = versions.map(({ document_id }) => document_id);
  await tx
    .selectFrom('documents')
    .select('id')
    .where('id', 'in', ids)
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  return tx
    .selectFrom('document_versions')
    .select(['document_id', 'version'])
    .where(isOneOf(versions))
    .orderBy('document_id')
    .orderBy('version')
    .execute();
}

/** Returns the known damages of versions by their keys; null of an object that was whole. */
async function findDamages(tx: Tx, keys: readonly VersionKey[]) {
  const rows = await tx
    .selectFrom('object_checks')
    .select(['document_id', 'version', 'damage'])
    .where(isOneOf(keys))
    .execute();
  return new Map(rows.map((row) => [keyOf(row), row.damage]));
}

async function upsertChecks(tx: Tx, checked: readonly CheckedFile[]): Promise<void> {
  await tx
    .insertInto('object_checks')
    .values(checked.map(toRow))
    .onConflict((conflict) =>
      conflict.columns(['document_id', 'version']).doUpdateSet({
        checked_at: sql`excluded.checked_at`,
        whole_at: sql`coalesce(excluded.whole_at, object_checks.whole_at)`,
        damage: sql`excluded.damage`,
        damaged_at: sql`case when object_checks.damage = excluded.damage
          then object_checks.damaged_at else excluded.damaged_at end`,
        unreadable_since: null,
        available_at: sql`now()`,
      }),
    )
    .execute();
}

function toRow({ file, finding: { state } }: CheckedFile) {
  const { document_id, version, user_id, tenant_id } = file;
  const now = sql<Date>`now()`;
  const row = { document_id, version, user_id, tenant_id, checked_at: now };
  return state === 'whole'
    ? { ...row, whole_at: now, damage: null, damaged_at: null }
    : { ...row, whole_at: null, damage: state, damaged_at: now };
}

function logDamage(log: Log, file: StoredFile, finding: CheckedFile['finding']): void {
  const { document_id: documentId, version } = file;
  log.error({ documentId, version, ...finding }, 'a stored file is not the one that was hashed');
}

function failedEvent({ file, finding }: CheckedFile, cause: CheckCause): AuditEvent {
  return {
    action: 'document.fixity_failed',
    actor: { type: 'system', id: cause.requestedBy },
    owner: ownerOf(file),
    resource: { type: 'document', id: file.document_id },
    requestId: cause.requestId,
    outcome: 'failure',
    data: { version: file.version, fileHash: file.file_hash, ...finding },
  };
}
