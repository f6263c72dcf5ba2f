import { randomBytes, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { Role, Scope } from '../../../app/accounts/rights.ts';
import { anyEnvelope } from '../../support/accounts/owner.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { createApi, type Answer, type Api } from '../../support/documents/uploads.ts';
import { newSharingKey, putKey } from '../../support/documents/sharing-keys.ts';
import { proofHeader } from '../../support/accounts/reauth-account.ts';
import { bytesOf, fileOf } from '../../support/documents/files.ts';
import { exportDocument } from '../../support/jobs/evidence-exports.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { putInDlq } from '../../support/audit/unsealed.ts';
import { appending } from '../../support/audit/log-rows.ts';

export const tenants = ['default', 'acme'] as const;
export type Tenant = (typeof tenants)[number];

/** A user who owns one of each resource that a route can name. */
export interface Owner {
  readonly tenant: Tenant;
  readonly api: Api;
  readonly ids: Readonly<Record<Resource, string>>;
  /** Texts of which a response that shows something of this owner holds at least one. */
  readonly marks: readonly string[];
}

export type Resource =
  | 'pending'
  | 'sealed'
  | 'proof'
  | 'share'
  | 'upload'
  | 'completed'
  | 'file'
  | 'device'
  | 'memory'
  | 'spareDevice'
  | 'object'
  | 'replaced'
  | 'session'
  | 'job'
  | 'exported'
  | 'dead';

/** A user with one role in one tenant, who owns nothing. */
export interface RoleCaller {
  readonly tenant: Tenant;
  readonly role: Role;
  readonly api: Api;
}

const scopes = [...Scope.options];

/** Creates a user of each role in each tenant. */
export function createCallers(vault: Vault): Promise<RoleCaller[]> {
  const callers = tenants.flatMap((tenant) => Role.options.map((role) => ({ tenant, role })));
  return Promise.all(
    callers.map(async ({ tenant, role }) => {
      const api = await createApi(vault, { tenantId: tenant, roles: ['user', role], scopes });
      return { tenant, role, api };
    }),
  );
}

/** Creates one of each resource of a user, who is new unless the id is given. */
export async function createOwner(
  vault: Vault,
  tenant: Tenant,
  userId: string = randomUUID(),
): Promise<Owner> {
  const sql = createSql(vault);
  const api = await createApi(vault, { userId, tenantId: tenant, scopes });
  await openSession(sql, api, api.caller.sessionId);
  const session = randomUUID();
  await openSession(sql, api, session);
  const upload = await post(api, '/v1/uploads', fileOf(1));
  const completed = await post(api, '/v1/uploads', fileOf(1));
  const completedId = String(completed['sessionId']);
  await api.send('PUT', `/v1/uploads/${completedId}/parts/1`, { bytes: bytesOf(1) });
  const documents = await storeDocuments(sql, api);
  const ids = {
    ...documents,
    ...(await storeKeys(vault, api)),
    upload: String(upload['sessionId']),
    completed: completedId,
    file: await storeFile(api),
    object: await storeObject(sql, api),
    session,
    job: await failJob(sql, api),
    exported: await storeExport(api, documents.pending),
    dead: await killEntry(sql, api),
  };
  return { tenant, api, ids, marks: [...Object.values(ids), api.caller.userId, reasonOf(api)] };
}

/** The reason of the tenant's dead letters, which the statistics of dead letters show. */
function reasonOf({ caller }: Pick<Api, 'caller'>): string {
  return `reason_of_${caller.tenantId}`;
}

async function post(api: Api, path: string, json?: unknown) {
  return expect(await api.send('POST', path, json === undefined ? {} : { json }));
}

function expect({ status, body }: Answer): Answer['body'] {
  if (status >= 300) throw new Error(`the owner got ${status}: ${JSON.stringify(body)}`);
  return body;
}

async function openSession(sql: Sql, { caller }: Api, id: string): Promise<void> {
  await sql(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at)
     values ($1, $2, $3, now(), now() + interval '1 day')`,
    [id, caller.userId, caller.tenantId],
  );
}

/** Completes an upload and resolves with its storage path. */
async function storeFile(api: Api): Promise<string> {
  const { sessionId } = await post(api, '/v1/uploads', fileOf(64));
  await api.send('PUT', `/v1/uploads/${String(sessionId)}/parts/1`, { bytes: bytesOf(64) });
  const { fileKey } = await post(api, `/v1/uploads/${String(sessionId)}/complete`);
  return String(fileKey);
}

async function storeDocument(api: Api): Promise<string> {
  const { id } = await post(api, '/v1/documents', {
    encryptedMetadata: randomBytes(64).toString('base64'),
    keywordDeterministic: [],
    storagePath: await storeFile(api),
  });
  return String(id);
}

/** Stores and seals a document; resolves with its id and the id of its proof. */
export async function storeSealed(api: Api): Promise<{ sealed: string; proof: string }> {
  const sealed = await storeDocument(api);
  const { proofId } = await post(api, `/v1/documents/${sealed}/certify`);
  return { sealed, proof: String(proofId) };
}

async function storeDocuments(sql: Sql, api: Api) {
  const pending = await storeDocument(api);
  const share = randomUUID();
  await sql(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref, wrapped_key,
       permissions)
     values ($1, $2, $3, $4, gen_random_uuid(), '', '{read}')`,
    [share, api.caller.userId, api.caller.tenantId, pending],
  );
  return { pending, share, ...(await storeSealed(api)) };
}

async function storeKeys(vault: Vault, api: Api) {
  const keys = '/v1/crypto/keys';
  const [device, spareDevice] = [randomUUID(), randomUUID()];
  await post(api, `${keys}/master-envelope`, { encryptedEnvelope: anyEnvelope() });
  await post(api, `${keys}/recovery-envelope`, { encryptedEnvelope: anyEnvelope() });
  for (const deviceId of [device, spareDevice]) {
    await post(api, `${keys}/device-envelope`, { deviceId, encryptedEnvelope: anyEnvelope() });
  }
  const memory = randomUUID();
  await post(api, '/v1/memory/records', { writer: memory, number: 1, record: anyEnvelope() });
  const proof = await proofHeader(vault, api.caller);
  for (const headers of [{}, { ...proof, 'If-Match': '"1"' }]) {
    expect(await putKey(api, newSharingKey(), headers));
  }
  const { body } = await api.send('GET', `${keys}/replaced`);
  const [replaced] = body as unknown as { readonly id: string }[];
  return { device, spareDevice, memory, replaced: replaced?.id ?? '' };
}

async function storeObject(sql: Sql, { caller }: Api): Promise<string> {
  const id = randomUUID();
  await sql(
    `with counter as (
       insert into sync_counters (user_id, tenant_id, last_change) values ($1, $2, 1)
       on conflict (user_id, tenant_id) do update set last_change = sync_counters.last_change + 1
       returning last_change
     )
     insert into sync_objects
       (user_id, tenant_id, object_id, version, data, change_seq, last_modified_at)
     select $1, $2, $3, 1, '{}', last_change, now() from counter`,
    [caller.userId, caller.tenantId, id],
  );
  return id;
}

/** Puts an entry of the user into the dead-letter queue, and resolves with its id. */
export async function killEntry(sql: Sql, { caller }: Pick<Api, 'caller'>): Promise<string> {
  const id = uuidv7();
  await sql(appending(`values ($1, $2, $3, 'upload', $4, 1, 'upload.created', '{"b":1,"a":2}')`), [
    id,
    caller.userId,
    caller.tenantId,
    randomUUID(),
  ]);
  await putInDlq(sql, [id], reasonOf({ caller }));
  return id;
}

/** Exports the evidence of a document, and resolves with the job's id. */
async function storeExport(api: Api, documentId: string): Promise<string> {
  const { downloadPath } = await exportDocument(api, { documentId });
  return downloadPath.split('/')[3] ?? '';
}

/** Stores a job of the user that failed, and resolves with its id. */
export async function failJob(sql: Sql, { caller }: Pick<Api, 'caller'>): Promise<string> {
  const id = randomUUID();
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, request_id, available_at, payload)
     values ($1, $2, $3, 'EMAIL_VALIDATION', gen_random_uuid(), now() + interval '1 day',
       '{"email":"ada@example.org","tenantId":null,"isMailed":false}')`,
    [id, caller.userId, caller.tenantId],
  );
  // Jobs that are over are counted when they end.
  await sql(
    `update jobs set state = 'FAILED', error = 'away', retryable = true, finished_at = now()
     where id = $1`,
    [id],
  );
  return id;
}

const ownedTables = [
  'devices',
  'document_shares',
  'document_versions',
  'documents',
  'evidence_exports',
  'jobs',
  'key_envelopes',
  'login_sessions',
  'memory_records',
  'replaced_keys',
  'sharing_keys',
  'sync_objects',
  'upload_parts',
  'upload_sessions',
];

/** Returns a digest of everything that is stored of an owner. */
export async function snapshot(sql: Sql, { api, ids }: Owner): Promise<Record<string, unknown>> {
  const digests = ownedTables.map(
    (table) =>
      `(select md5(string_agg(x::text, ' ' order by x::text)) from ${table} x where user_id = $1)
       as ${table}`,
  );
  const [row] = await sql(
    `select ${digests.join(', ')},
       (select md5(l::text) from audit_dead_letters l where entry_id = $2) as dead_letter`,
    [api.caller.userId, ids.dead],
  );
  return row ?? {};
}
