import type { Client } from 'pg';
import type { Month } from '../../audit-trail/archived-months.ts';
import type { ArchiveState } from '../../db/tables/audit/archives.ts';
import type { RowsNote } from './row-digest.ts';

/** Thrown if a month may not leave or return; the message says why, in one line. */
export class PartitionRefusal extends Error {
  override name = 'PartitionRefusal';
}

/** A month that left the log at some time. */
export interface ArchivedMonth {
  readonly month: Month;
  readonly state: ArchiveState;
  readonly detachedAt: Date;
  readonly attachedAt: Date | null;
  /** The numbers and the hash of the rows that left; undefined while they are not noted. */
  readonly note: RowsNote | undefined;
}

interface Row extends Omit<ArchivedMonth, 'note'> {
  readonly entries: string | null;
  readonly seals: string | null;
  readonly digest: Buffer | null;
}

const columns = `month, state, entries::text, seals::text, digest, detached_at as "detachedAt",
  attached_at as "attachedAt"`;

/** Lists the months that ever left, oldest first. */
export async function listArchives(client: Client): Promise<readonly ArchivedMonth[]> {
  const { rows } = await client.query<Row>(`select ${columns} from audit_archives order by month`);
  return rows.map(toMonth);
}

/** Locks the row of a month until the transaction ends; undefined if the month never left. */
export async function lockArchive(
  client: Client,
  month: Month,
): Promise<ArchivedMonth | undefined> {
  const { rows } = await client.query<Row>(
    `select ${columns} from audit_archives where month = $1 for update`,
    [month],
  );
  return rows.map(toMonth)[0];
}

/** Records that a month leaves. */
export async function recordDetached(client: Client, month: Month): Promise<void> {
  await client.query(
    `insert into audit_archives (month, state) values ($1, 'DETACHING')
     on conflict (month) do update set state = 'DETACHING', entries = null, seals = null,
       digest = null, detached_at = now(), attached_at = null`,
    [month],
  );
}

/** Records what the rows of a month are that has left. */
export async function recordNote(client: Client, month: Month, note: RowsNote): Promise<void> {
  await client.query(
    `update audit_archives set state = 'AWAY', entries = $2, seals = $3, digest = $4
     where month = $1 and state = 'DETACHING'`,
    [month, note.entries, note.seals, note.digest],
  );
}

/** Records that a month is part of the log again. */
export async function recordAttached(client: Client, month: Month): Promise<void> {
  await client.query(
    `update audit_archives set state = 'ATTACHED', attached_at = now() where month = $1`,
    [month],
  );
}

function toMonth({ entries, seals, digest, ...rest }: Row): ArchivedMonth {
  if (entries === null || seals === null || digest === null) return { ...rest, note: undefined };
  return { ...rest, note: { entries: Number(entries), seals: Number(seals), digest } };
}
