import { counters, type Counts } from '../../../app/db/usage/quota.ts';
import type { Api } from '../documents/uploads.ts';
import type { Sql } from './sql.ts';

/** Returns what a user keeps, computed from the rows without the vault's own counting. */
export async function countRows(sql: Sql, userId: string): Promise<Counts> {
  const [row = {}] = await sql(
    `select
      (select count(*) from upload_sessions where user_id = $1 and status = 'IN_PROGRESS')
        as "openUploads",
      (select coalesce(sum(file_size), 0) from upload_sessions
        where user_id = $1 and status in ('IN_PROGRESS', 'COMPLETED')) as "storageBytes",
      (select count(*) from upload_sessions where user_id = $1) as uploads,
      (select coalesce(sum(total_parts), 0) from upload_sessions where user_id = $1)
        as "uploadParts",
      (select count(*) from documents where user_id = $1) as documents,
      (select coalesce(sum(length(encrypted_metadata)), 0) from document_versions
        where user_id = $1) as "metadataBytes",
      (select count(*) from document_keywords where user_id = $1) as keywords,
      (select count(*) from devices where user_id = $1) as devices,
      (select count(*) from document_shares where user_id = $1) as shares,
      (select count(*) from share_recipients where user_id = $1) as "shareRecipients",
      (select count(*) from sync_objects where user_id = $1 and data is not null) as "syncObjects",
      (select coalesce(sum(octet_length(data)), 0) from sync_objects where user_id = $1)
        as "syncObjectBytes",
      (select count(*) from sync_history where user_id = $1) as "historyEntries",
      (select coalesce(sum(octet_length(concat(changed_fields, undo))), 0) from sync_history
        where user_id = $1) as "historyBytes",
      (select count(*) from sync_requests where user_id = $1)
        + (select count(*) from idempotency_keys where user_id = $1 and response is not null)
        as "keptAnswers",
      (select coalesce(sum(octet_length(answer)), 0) from sync_requests where user_id = $1)
        + (select coalesce(sum(octet_length(response)), 0) from idempotency_keys
           where user_id = $1) as "keptAnswerBytes"`,
    [userId],
  );
  return toCounts(row);
}

/** Returns the stored counters of a user, summed over tenants; zeros if there are none. */
export async function storedUsage(sql: Sql, userId: string): Promise<Counts> {
  const columns = counters.map((name) => `coalesce(sum(${columnOf(name)}), 0) as "${name}"`);
  const [row = {}] = await sql(`select ${columns.join(', ')} from usage where user_id = $1`, [
    userId,
  ]);
  return toCounts(row);
}

/** Returns what `GET /v1/usage` shows. */
export async function shownUsage(api: Api): Promise<Counts> {
  const { status, body } = await api.send('GET', '/v1/usage');
  if (status !== 200) throw new Error(`/v1/usage got ${status}: ${JSON.stringify(body)}`);
  const usage = body['usage'] as Record<string, { readonly used: number }>;
  return Object.fromEntries(counters.map((name) => [name, usage[name]?.used])) as Counts;
}

function toCounts(row: Record<string, unknown>): Counts {
  return Object.fromEntries(counters.map((name) => [name, Number(row[name])])) as Counts;
}

function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
