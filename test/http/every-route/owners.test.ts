import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { createTenant, type Tenant } from '../../support/accounts/two-tenants.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { createDevice, deviceOf } from '../../support/sync/devices.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

let vault: TestVault;
let sql: Sql;
let alice: Tenant;
/** Ids of what belongs to alice, by the part of the path that they fill in. */
let ids: Readonly<Record<string, string>>;
let strangers: readonly Stranger[];

interface Stranger {
  readonly name: string;
  readonly api: Api;
  readonly deviceId: string;
}

const scopes = ['documents:read', 'documents:write', 'uploads:write', 'keys:manage', 'audit:read'];

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
  alice = await createTenant(vault, 'tenant-a');
  ids = await idsOf(alice);
  strangers = [
    await createStranger('another user of the tenant', { ...alice, userId: randomUUID() }),
    await createStranger('the same user in another tenant', { ...alice, tenantId: 'tenant-b' }),
  ];
  // From here on nothing but the conditions of the statements keeps users apart. The checks of the
  // vault, which would notice it and serve nothing, have ended.
  await vault.services.isolation.stop();
  for (const { name } of await sql(
    `select quote_ident(relname) as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relrowsecurity`,
  )) {
    await sql(`alter table ${String(name)} disable row level security`);
  }
});
test.after.always(() => vault.stop());

async function createStranger(name: string, owner: Tenant): Promise<Stranger> {
  const { api, deviceId } = await createDevice(vault, owner);
  const { sessionId } = api.caller;
  const all = [...scopes, 'jobs:submit', 'sync:read', 'sync:write'];
  return { name, api: await createApi(vault, { ...owner, sessionId, scopes: all }), deviceId };
}

async function idsOf({ userId, tenantId }: Tenant): Promise<Readonly<Record<string, string>>> {
  await sql(
    `insert into upload_sessions (id, user_id, tenant_id, file_name, file_size, mime_type,
       total_parts, storage_key, storage_upload_id, expires_at)
     values ($3, $1, $2, 'a', 1, 'a/b', 1, $4, 'u', now() + interval '1 day')`,
    [userId, tenantId, randomUUID(), `${randomUUID()}/a`],
  );
  const one = async (column: string, from: string) => {
    const [row] = await sql(
      `select ${column}::text as id from ${from} and user_id = $1 and tenant_id = $2 limit 1`,
      [userId, tenantId],
    );
    return String(row?.['id']);
  };
  return {
    '/documents/:id': await one('id', 'documents where true'),
    '/shares/:shareId': await one('id', 'document_shares where true'),
    '/shared/:shareId': await one('id', 'document_shares where true'),
    '/blocked-senders/:senderId': await one('sender_id', 'sender_blocks where true'),
    '/records/:writer': await one('writer', 'memory_records where true'),
    '/replaced/:id': await one('id', 'replaced_keys where true'),
    '/uploads/:sessionId': await one('id', "upload_sessions where status = 'IN_PROGRESS'"),
    '/device-envelope/:deviceId': await one('device_id', 'devices where true'),
    '/devices/:deviceId': await one('device_id', 'devices where true'),
    '/jobs/:jobId': await one('id', 'jobs where true'),
    '/sync/:objectId': await one('object_id', 'sync_objects where true'),
    '/proof/:id': await one('id', "audit_entries where state = 'SEALED'"),
    '/sessions/:id': await one('id', 'login_sessions where true'),
    '/parts/:partNumber': '1',
  };
}

/** Routes of users that name something of theirs by its id. Anybody can be blocked. */
const routes = listRoutes().filter(
  ({ path, access, method }) =>
    path.includes(':') &&
    access !== 'internal' &&
    !path.includes('/dlq/') &&
    access !== 'public' &&
    !(method === 'put' && path.includes('/blocked-senders/')),
);

function fill(path: string): string {
  return Object.entries(ids).reduce((filled, [part, id]) => {
    const [fixed = ''] = part.split(':');
    return filled.replace(part, `${fixed}${id}`);
  }, path);
}

const bodies: Readonly<Record<string, object>> = {
  '/v1/documents/:id/versions': { storagePath: `${randomUUID()}/no-file` },
  '/v1/documents/:id/metadata': { encryptedMetadata: 'QUJD', keywordDeterministic: [] },
  '/v1/documents/:id/share': {
    recipientId: randomUUID(),
    wrappedKey: 'QUJD',
    permissions: ['read'],
  },
  '/v1/crypto/keys/devices/:deviceId': { encryptedInfo: 'QUJD' },
};

/** Returns everything that belongs to alice, without what the passing of time changes. */
async function snapshot(): Promise<unknown> {
  const tables = await sql(
    `select table_name as name from information_schema.columns
     where table_schema = 'public' and column_name = 'user_id'
       and table_name not in ('audit_entries', 'audit_log', 'audit_trails', 'audit_tallies')
     order by 1`,
  );
  const rows: unknown[] = [];
  for (const { name } of tables) {
    rows.push(
      await sql(
        `select to_json(x)::text as row from ${String(name)} x
         where user_id = $1 and to_jsonb(x) ->> 'tenant_id' = $2 order by 1`,
        [alice.userId, alice.tenantId],
      ),
    );
  }
  return rows;
}

async function assertNothing(
  t: ExecutionContext,
  { name, api, deviceId }: Stranger,
  { path, method, body }: (typeof routes)[number],
) {
  const url = fill(path);
  t.notRegex(url, /:/, `name an id of alice in this test for ${path}`);
  const verb = method.toUpperCase();
  const isPart = path.endsWith(':partNumber');
  const json = body === undefined || verb === 'DELETE' ? undefined : bodies[path];
  const answer = await api.send(verb, url, {
    ...(json === undefined ? {} : { json }),
    ...(isPart ? { bytes: new Uint8Array(1) } : {}),
    headers: { 'If-Match': '*', 'X-Device-Id': deviceId, 'X-Schema-Version': '1' },
  });
  t.is(answer.status, 404, `${verb} ${path} by ${name}: ${JSON.stringify(answer.body)}`);
}

test.serial('without row-level security, a row of another owner is still not found', async (t) => {
  const before = await snapshot();
  for (const stranger of strangers) {
    for (const route of routes) await assertNothing(t, stranger, route);
  }
  t.deepEqual(await snapshot(), before);
});

async function assertUnnamed(t: ExecutionContext, api: Api): Promise<void> {
  const lists = ['/v1/documents', '/v1/documents/shared', '/v1/crypto/keys/devices'];
  for (const path of [...lists, '/v1/auth/sessions', '/v1/audit/entries']) {
    const { status, body } = await api.send('GET', path);
    t.is(status, 200, path);
    const text = JSON.stringify(body);
    for (const id of Object.values(ids).filter((each) => each !== '1')) {
      t.false(text.includes(id), `${path}: ${id}`);
    }
  }
}

test.serial('without row-level security, lists and bodies name no row of another', async (t) => {
  const [file] = await sql(
    `select storage_key as key from upload_sessions
     where user_id = $1 and status = 'COMPLETED' limit 1`,
    [alice.userId],
  );
  const { '/proof/:id': entryId = '', '/sync/:objectId': objectId = '' } = ids;
  for (const { api, deviceId } of strangers) {
    await assertUnnamed(t, api);
    const created = await api.send('POST', '/v1/documents', {
      json: {
        storagePath: file?.['key'],
        encryptedMetadata: 'QUJD',
        keywordDeterministic: [randomBytes(32).toString('hex')],
      },
    });
    t.is(created.body['code'], 'stored_file_not_found');
    const verified = await api.send('POST', '/v1/audit/proof/verify-batch', {
      json: { ids: [entryId] },
    });
    t.like(verified.body, { total: 1, valid: 0, invalid: 1 });
    const write = { objectId, version: 2, baseVersion: 1, delta: { a: 1 } };
    t.is((await deviceOf(api, deviceId).write(write)).status, 404);
  }
});
