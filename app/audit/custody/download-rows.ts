import { sql } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { isFree, leaseEnd } from '../../db/leases/lease.ts';
import { AppError } from '../../errors/app-error.ts';

/**
 * The file of a version of a document, or the archive of an evidence export, and who reads it by
 * which right.
 */
export interface FileReading {
  /** The document's owner. */
  readonly owner: Owner;
  readonly documentId: string;
  /** Null for an archive. */
  readonly version: number | null;
  /** The job that wrote the archive; null for the file of a version. */
  readonly jobId: string | null;
  /** SHA3-256 of the stored file in hex. */
  readonly fileHash: string;
  /** The user who reads the file, or for whom a job does. */
  readonly readerId: string;
  /** The share by which the reader may read the document; null unless the reader needs one. */
  readonly shareId: string | null;
  /** The server's own id of the request. */
  readonly requestId: string;
  /** Whether the reader asked for a range. Ranges of one download are summed up. */
  readonly isPart: boolean;
}

/** The part that was sent of the bytes that a reader asked for. */
export interface Sent {
  /** Bytes that were handed to the socket. */
  readonly bytes: number;
  /** Whether these are all that the reader asked for, and the response has finished. */
  readonly isComplete: boolean;
}

/** A download that has ended; `sent` is undefined if nothing was sent, so that it was none. */
export interface EndedDownload {
  readonly id: string;
  readonly sent: Sent | undefined;
}

/** A download that becomes an entry, or the sum of its ranges. */
export interface FinishedDownload extends Omit<FileReading, 'isPart'> {
  /** Null if a process died that had sent some of them. */
  readonly bytes: number | null;
  readonly isComplete: boolean;
}

/** Seconds without another range after which the ranges before are one download. */
const pauseSeconds = 30;
/** Seconds after which ranges become an entry even if their reader goes on. */
const longestSeconds = 600;

/** The most downloads of one reader that are not entries yet. */
export const maxWaiting = 10_000;

/**
 * Stores that a download begins, under a lease. With the app login, only of the caller's own.
 * Throws rate_limited while `maxWaiting` downloads of the reader wait for their entries.
 */
export async function insertDownload(tx: Tx, id: string, reading: FileReading): Promise<void> {
  const { owner, documentId, version, jobId, fileHash, readerId, shareId, requestId } = reading;
  const { numAffectedRows } = await sql`
    insert into downloads (id, user_id, tenant_id, document_id, version, job_id, file_hash,
      reader_id, share_id, request_id, is_part, held_until)
    select ${id}::uuid, ${owner.userId}::uuid, ${owner.tenantId}, ${documentId}::uuid,
      ${version}::int, ${jobId}::uuid, ${fileHash}, ${readerId}::uuid, ${shareId}::uuid,
      ${requestId}::uuid, ${reading.isPart}::boolean, ${leaseEnd()}
    where (
      select count(*) from (
        select 1 from downloads where reader_id = ${readerId}::uuid limit ${maxWaiting}
      ) as waiting
    ) < ${maxWaiting}`.execute(tx);
  if (numAffectedRows !== 1n) {
    throw new AppError('rate_limited', { retryAfterSeconds: pauseSeconds });
  }
}

/** Renews the leases of downloads that have not ended. */
export async function renewDownloads(tx: Tx, ids: readonly string[]): Promise<void> {
  await sql`
    with ${lockedDownloads(ids)}
    update downloads set held_until = ${leaseEnd()} from held where downloads.id = held.id`.execute(
    tx,
  );
}

/** Returns the common table expression `held`, which locks downloads in the order of their ids. */
function lockedDownloads(ids: readonly string[]) {
  return sql`held as (
    select id from downloads where id = any(${ids}::uuid[]) and held_until is not null
    order by id for no key update
  )`;
}

/** Stores how downloads ended, unless another process has taken their process for dead. */
export async function endDownloads(tx: Tx, ended: readonly EndedDownload[]): Promise<void> {
  const unsent = ended.filter(({ sent }) => sent === undefined).map(({ id }) => id);
  if (unsent.length > 0) {
    await tx
      .deleteFrom('downloads')
      .where('id', '=', sql<string>`any(${unsent}::uuid[])`)
      .execute();
  }
  const sent = ended.flatMap((each) => (each.sent === undefined ? [] : { ...each.sent, ...each }));
  if (sent.length === 0) return;
  const ids = sent.map(({ id }) => id);
  await sql`
    with ${lockedDownloads(ids)}
    update downloads
    set held_until = null, ended_at = now(), sent = ends.bytes, is_complete = ends.is_complete
    from held join unnest(
      ${ids}::uuid[], ${sent.map(({ bytes }) => bytes)}::bigint[],
      ${sent.map(({ isComplete }) => isComplete)}::boolean[]
    ) as ends (id, bytes, is_complete) using (id)
    where downloads.id = held.id`.execute(tx);
}

/** Returns whether there are downloads that are not entries yet. */
export async function isAnyStored(tx: Tx): Promise<boolean> {
  const row = await tx.selectFrom('downloads').select('id').limit(1).executeTakeFirst();
  return row !== undefined;
}

/** Ends the downloads whose processes have let their leases expire. */
export async function endAbandoned(tx: Tx): Promise<void> {
  await sql`
    with abandoned as (
      select id from downloads where held_until is not null and ${isFree('held_until')}
      order by id for no key update skip locked
    )
    update downloads set held_until = null, ended_at = now()
    from abandoned where downloads.id = abandoned.id`.execute(tx);
}

interface FinishedRow {
  readonly user_id: string;
  readonly tenant_id: string;
  readonly document_id: string;
  readonly version: number | null;
  readonly job_id: string | null;
  readonly file_hash: string;
  readonly reader_id: string;
  readonly share_id: string | null;
  readonly request_id: string;
  readonly bytes: number | null;
  readonly is_complete: boolean;
}

/**
 * Removes and returns up to `limit` downloads that have ended, the oldest first. A download by
 * ranges has ended once its reader has asked for none for 30 s, or began it ten minutes ago. The
 * downloads of an owner who has moved to another tenant are returned with the new tenant, where the
 * owner's sequence numbers continue. Call it in one transaction at a time.
 */
export async function takeFinished(tx: Tx, limit: number): Promise<FinishedDownload[]> {
  const { rows } = await sql<FinishedRow>`
    with due as (
      select unnest(ids) as id, ids[1] as first_id from (
        select array_agg(id order by id) filter (where ended_at is not null) as ids
        from downloads
        group by user_id, tenant_id, document_id, version, job_id, file_hash, reader_id, share_id,
          is_part, case when not is_part then id end
        having bool_and(ended_at is not null) and (not is_part
            or max(ended_at) <= now() - make_interval(secs => ${pauseSeconds}))
          or bool_or(ended_at is not null)
            and min(began_at) <= now() - make_interval(secs => ${longestSeconds})
        order by min(began_at) limit ${limit}
      ) as ended
    ), taken as (
      delete from downloads using due where downloads.id = due.id
      returning downloads.id, user_id, tenant_id, document_id, version, job_id, file_hash,
        reader_id, share_id, request_id, sent, is_complete, first_id
    ), summed as (
      select first_id, bool_and(is_complete) as is_complete,
        case when bool_and(sent is not null) then sum(sent)::bigint end as bytes
      from taken group by first_id
    )
    select t.user_id, coalesce(a.tenant_id, t.tenant_id) as tenant_id, document_id, version,
      job_id, file_hash, reader_id, share_id, request_id, bytes, summed.is_complete
    from summed join taken t on t.id = summed.first_id
    left join accounts a on a.id = t.user_id
    order by summed.first_id`.execute(tx);
  return rows.map(toFinished);
}

function toFinished(row: FinishedRow): FinishedDownload {
  return {
    owner: { userId: row.user_id, tenantId: row.tenant_id },
    documentId: row.document_id,
    version: row.version,
    jobId: row.job_id,
    fileHash: row.file_hash,
    readerId: row.reader_id,
    shareId: row.share_id,
    requestId: row.request_id,
    bytes: row.bytes,
    isComplete: row.is_complete,
  };
}
