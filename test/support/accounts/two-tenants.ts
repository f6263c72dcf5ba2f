import { randomBytes, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { createAccount, inventAccount, logIn, register } from './test-account.ts';
import { postJson, send } from '../http/send.ts';
import { newSharingKey, withPossession } from '../documents/sharing-keys.ts';
import type { Vault } from '../vault/vault.ts';

export interface Tenant {
  readonly userId: string;
  readonly tenantId: string;
}

/** Opens a connection as one of the vault's database logins. The caller must close it. */
export async function connectAs(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
}

/** Creates a user in their own tenant, with a row in every table that holds users' rows. */
export async function createTenant(vault: Vault, tenantId: string): Promise<Tenant> {
  const account = await createAccount(vault);
  const service = await connectAs(vault.databases.service);
  const { rows } = await service.query<{ readonly id: string }>(
    'update accounts set tenant_id = $1 where email = $2 returning id',
    [tenantId, account.email],
  );
  const userId = rows[0]?.id ?? '';
  const token = await logIn(vault, account);
  await storeEverything(vault, token);
  await service.query(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref, wrapped_key,
       permissions)
     select gen_random_uuid(), user_id, tenant_id, id, gen_random_uuid(), '', '{read}'
     from documents where user_id = $1`,
    [userId],
  );
  await storeOfDevices(service, { userId, tenantId });
  await service.end();
  await register(vault, inventAccount());
  return { userId, tenantId };
}

async function storeOfDevices(service: Client, { userId, tenantId }: Tenant): Promise<void> {
  const inserts = [
    `jobs (id, user_id, tenant_id, type, request_id, available_at)
     values (gen_random_uuid(), $1, $2, 'EMAIL_VALIDATION', gen_random_uuid(),
       now() + interval '1 day')`,
    `evidence_exports (job_id, user_id, tenant_id, document_id, storage_key, object_version, size,
       hash, expires_at)
     select jobs.id, $1, $2, documents.id, '', '', 1, '', now() + interval '1 day'
     from jobs join documents using (user_id) where user_id = $1 limit 1`,
    `downloads (id, user_id, tenant_id, document_id, job_id, file_hash, reader_id, request_id,
       is_part, held_until)
     select gen_random_uuid(), $1, $2, document_id, job_id, hash, $1, gen_random_uuid(), false,
       now() + interval '1 day'
     from evidence_exports where user_id = $1`,
    `sender_blocks (user_id, tenant_id, sender_id) values ($1, $2, gen_random_uuid())`,
    `memory_records (user_id, tenant_id, writer, number, record)
     values ($1, $2, gen_random_uuid(), 1, '')`,
    `session_devices (user_id, tenant_id, id, issuer, sid, device_id)
     values ($1, $2, gen_random_uuid(), 'https://issuer.test', 'a', gen_random_uuid())`,
    `replaced_keys (user_id, tenant_id, id, kind, version, wrapped_key, replaced_at)
     values ($1, $2, gen_random_uuid(), 'RECOVERY', 1, '', now())`,
    `sync_counters (user_id, tenant_id, last_change) values ($1, $2, 1)`,
    `sync_objects (user_id, tenant_id, object_id, version, data, change_seq, last_modified_at)
     values ($1, $2, gen_random_uuid(), 1, '{}', 1, now())`,
    `sync_history (user_id, tenant_id, id, object_id, version, status, device_id, changed_at)
     values ($1, $2, gen_random_uuid(), gen_random_uuid(), 1, 'APPLIED', gen_random_uuid(), now())`,
    `sync_requests (user_id, tenant_id, request_id, digest, answer, expires_at)
     values ($1, $2, gen_random_uuid(), '', '{}', now())`,
  ];
  for (const insert of inserts) await service.query(`insert into ${insert}`, [userId, tenantId]);
}

async function storeEverything({ baseUrl }: Vault, token: string): Promise<void> {
  const bytes = randomBytes(64);
  const upload = { fileName: 'a.bin', mimeType: 'application/octet-stream', totalParts: 1 };
  const post = async (path: string, json: unknown) => {
    const { status, body, text } = await postJson(`${baseUrl}${path}`, json, token);
    if (status >= 300) throw new Error(`${path} got ${status}: ${text}`);
    return body as Record<string, string>;
  };
  await post('/v1/crypto/keys/master-envelope', {
    encryptedEnvelope: randomBytes(40).toString('base64'),
  });
  await post('/v1/crypto/keys/recovery-envelope', {
    encryptedEnvelope: randomBytes(40).toString('base64'),
  });
  await post('/v1/crypto/keys/device-envelope', {
    deviceId: randomUUID(),
    encryptedEnvelope: randomBytes(40).toString('base64'),
    encryptedInfo: randomBytes(40).toString('base64'),
  });
  const sharing = `${baseUrl}/v1/crypto/keys/sharing`;
  const json = await withPossession(token, newSharingKey(), () => send('GET', sharing, { token }));
  await send('PUT', sharing, { token, json });
  await post('/v1/documents/share-key', { recipientEmail: inventAccount().email });
  const created = await send('POST', `${baseUrl}/v1/uploads`, {
    token,
    json: { ...upload, fileSize: bytes.length },
    headers: { 'Idempotency-Key': 'once' },
  });
  const { sessionId } = created.body as Record<string, string>;
  const part = { token, bytes: new Uint8Array(bytes) };
  await send('PUT', `${baseUrl}/v1/uploads/${sessionId}/parts/1`, part);
  const { fileKey } = await post(`/v1/uploads/${sessionId}/complete`, undefined);
  const { id } = await post('/v1/documents', {
    encryptedMetadata: randomBytes(64).toString('base64'),
    keywordDeterministic: [randomBytes(32).toString('hex')],
    storagePath: fileKey,
  });
  await post(`/v1/documents/${id}/certify`, undefined);
}
