import { createHash } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import type { ObjectStore } from '../../../app/storage/interface/object-store.ts';
import type { UploadedFile } from '../../../client/uploads/upload.ts';
import { listStore } from '../../uploads/cleanup/listed-store.ts';
import { query } from '../audit/audit-check.ts';
import type { VaultProcesses } from '../../support/processes/vault-processes.ts';

interface StoredPart {
  readonly key: string;
  readonly version: string;
  readonly size: number;
  readonly sha256: string;
}

/**
 * Asserts that every upload completed since `since` equals its recorded parts byte for byte.
 * Resolves with the number of uploads.
 */
export async function assertWhole(
  t: ExecutionContext,
  vault: VaultProcesses,
  store: ObjectStore,
  since: Date,
): Promise<number> {
  const parts = await query<StoredPart>(
    vault,
    `select storage_key as key, object_version as version, p.size::int, p.sha256
     from upload_sessions s join upload_parts p on p.session_id = s.id
     where status = 'COMPLETED' and completed_at >= '${since.toISOString()}'
     order by s.id, part_number`,
  );
  const byObject = Map.groupBy(parts, ({ key }) => key);
  for (const [key, [first, ...others]] of byObject) {
    const object = await store.get(key, { ifVersion: first?.version });
    const bytes = Buffer.concat(await object.body.toArray());
    let offset = 0;
    for (const { size, sha256 } of first === undefined ? [] : [first, ...others]) {
      const part = bytes.subarray(offset, (offset += size));
      t.is(createHash('sha256').update(part).digest('base64'), sha256, key);
    }
    t.is(offset, bytes.length, key);
  }
  return byObject.size;
}

/** Asserts that the stored object has the hash of the file that the client sent. */
export async function assertSent(
  t: ExecutionContext,
  store: ObjectStore,
  { storagePath, fileHash }: UploadedFile,
): Promise<void> {
  const sha3 = createHash('sha3-256');
  const { body } = await store.get(storagePath);
  for await (const chunk of body) sha3.update(chunk as Buffer);
  t.is(sha3.digest('hex'), fileHash, storagePath);
}

/**
 * Asserts that the store holds what the database refers to and nothing else. Resolves with the
 * number of objects.
 */
export async function assertNothingElse(
  t: ExecutionContext,
  vault: VaultProcesses,
  store: ObjectStore,
): Promise<number> {
  const list = async (sql: string) =>
    (await query<{ readonly name: string }>(vault, sql)).map((row) => row.name);
  const { uploads, objects } = await listStore(store);
  const open = "select storage_upload_id as name from upload_sessions where status = 'IN_PROGRESS'";
  t.deepEqual(uploads, (await list(open)).sort(), 'open uploads');
  const files = 'select storage_key as name from document_versions';
  t.deepEqual(objects, (await list(files)).sort(), 'objects');
  const completed = "select storage_key as name from upload_sessions where status = 'COMPLETED'";
  t.deepEqual((await list(completed)).sort(), objects, 'completed uploads');
  return objects.length;
}

/**
 * Moves the uploads' times back by 25 hours: open ones are expired, and completed ones can no
 * longer become documents.
 */
export async function letADayPass(vault: VaultProcesses): Promise<void> {
  await query(
    vault,
    `update upload_sessions set expires_at = expires_at - interval '25 hours',
       completing_until = completing_until - interval '25 hours',
       completed_at = completed_at - interval '25 hours'`,
  );
}

/** Ends the leases of a killed app, after its last commits are over. */
export async function forgetDead(vault: VaultProcesses): Promise<void> {
  const connected = `select 1 from pg_stat_activity
    where datname = current_database() and usename in ('probatio_app', 'probatio_service')`;
  await until(async () => (await query(vault, connected)).length === 0, {
    what: 'the connections of the killed app to end',
    timeoutMs: 60_000,
  });
  await query(vault, 'update upload_sessions set completing_until = now()');
  await query(vault, 'update upload_parts set claimed_until = now() where stored_at is null');
  await query(vault, 'update outbox set available_at = now()');
}

export function untilDone(vault: VaultProcesses): Promise<boolean> {
  return until(async () => (await query(vault, 'select id from outbox limit 1')).length === 0, {
    what: 'the outbox to be empty',
    timeoutMs: 60_000,
  });
}
