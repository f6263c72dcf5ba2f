import { randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { listRoutes } from '../../app/wiring/routes.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { certify, metadata, storeDocument } from '../support/documents/documents.ts';
import type { Answer, Api, SendOptions } from '../support/documents/uploads.ts';
import { bytesOf, upload } from '../support/documents/files.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import {
  aShare,
  createPerson,
  createRecipient,
  endShare,
  share,
} from '../support/documents/people.ts';
import { nextPage } from '../support/http/next-page.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault();
});
test.after.always((t) => t.context.vault.stop());

/** Stores a document and shares it. Returns it with its owner and its recipient. */
async function shareDocument(t: ExecutionContext<{ vault: TestVault }>) {
  const { vault } = t.context;
  const owner = await createPerson(vault);
  const recipient = await createRecipient(t, vault);
  const document = await storeDocument(t, owner.api);
  const { status, body } = await share(owner.api, document.id, { recipientEmail: recipient.email });
  t.is(status, 201);
  return { owner, recipient, document, id: document.id, shareId: String(body.id) };
}

/** Paths below a document that a recipient may read. */
const reads = new Set(['', '/hash', '/download', '/proof', '/versions']);

/** Requests that only an owner may send, by method and path, with valid options. */
const ownersOnly: Record<string, (api: Api, t: ExecutionContext) => Promise<SendOptions>> = {
  'delete ': async () => ({}),
  'post /certify': async () => ({}),
  'put /metadata': async () => ({
    json: { encryptedMetadata: metadata },
    headers: { 'If-Match': '"1"' },
  }),
  'post /versions': async (api, t) => {
    const { fileKey } = await upload(t, api, bytesOf(10));
    return { json: { storagePath: fileKey } };
  },
  'post /share': async () => ({ json: { ...aShare, recipientId: randomUUID() } }),
  'get /shares': async () => ({}),
  'delete /shares/:shareId': async () => ({}),
};

const routes = listRoutes().flatMap(({ method, path }) => {
  const [, rest] = /^\/v1\/documents\/:id(.*)$/.exec(path) ?? [];
  return rest === undefined ? [] : [{ method, rest }];
});
const readRoutes = routes.filter(({ method, rest }) => method === 'get' && reads.has(rest));
const otherRoutes = routes.filter((route) => !readRoutes.includes(route));

/** Returns the status only, since downloads are not JSON. */
async function ask({ baseUrl }: TestVault, { token }: Api, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${baseUrl}/v1/documents/${path}`, { headers });
  await response.arrayBuffer();
  return response.status;
}

test('both kinds of routes exist, so that the tests below prove something', (t) => {
  t.true(readRoutes.length >= 2);
  t.true(otherRoutes.length >= 5);
});

for (const { rest } of readRoutes) {
  test(`a share opens GET …${rest} to its recipient, and only while it lasts`, async (t) => {
    const { vault } = t.context;
    const { owner, recipient, id, shareId } = await shareDocument(t);
    t.is((await certify(owner.api, id)).status, 200);
    t.is(await ask(vault, recipient.api, id + rest), 200);
    t.is(await ask(vault, (await createRecipient(t, vault)).api, id + rest), 404, 'a stranger');

    await endShare(vault, shareId);
    t.is(await ask(vault, recipient.api, id + rest), 404, 'after it expired');
    const again = await share(owner.api, id, { recipientEmail: recipient.email });
    t.is(await ask(vault, recipient.api, id + rest), 200, 'shared again');
    const path = `/v1/documents/${id}/shares/${String(again.body.id)}`;
    t.is((await owner.api.send('DELETE', path)).status, 204);
    t.is(await ask(vault, recipient.api, id + rest), 404, 'after it was revoked');
    t.is(await ask(vault, owner.api, id + rest), 200, 'the owner');
  });
}

for (const { method, rest } of otherRoutes) {
  test(`${method.toUpperCase()} …${rest} is refused to a recipient`, async (t) => {
    const { vault } = t.context;
    const prepare = ownersOnly[`${method} ${rest}`] ?? t.fail('list the route above');
    const { recipient, owner, id, shareId } = await shareDocument(t);
    const snapshot = () =>
      createSql(vault)(
        `select d.*, v.*, (select count(*) from document_shares where document_id = d.id) as shares
         from documents d join document_versions v on v.document_id = d.id where d.id = $1`,
        [id],
      );
    const before = await snapshot();
    const path = `/v1/documents/${id}${rest.replace(':shareId', shareId)}`;
    const refused = await recipient.api.send(
      method.toUpperCase(),
      path,
      await prepare(recipient.api, t),
    );
    t.deepEqual([refused.status, refused.body.code], [404, 'not_found']);
    t.deepEqual(await snapshot(), before);
    const granted = await owner.api.send(method.toUpperCase(), path, await prepare(owner.api, t));
    t.true(granted.status < 300, `the same request of the owner: ${JSON.stringify(granted.body)}`);
  });
}

test('a recipient lists and opens what is shared, and nobody else does', async (t) => {
  const { vault } = t.context;
  const { owner, recipient, document, shareId } = await shareDocument(t);
  const shared = (api: Api): Promise<Answer> => api.send('GET', '/v1/documents/shared');
  const { status, headers, body } = await shared(recipient.api);
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  const [item, ...more] = Object.values(body) as Record<string, unknown>[];
  t.deepEqual(more, []);
  t.deepEqual(
    { ...item, createdAt: undefined },
    {
      shareId,
      documentId: document.id,
      ownerId: owner.userId,
      wrappedKey: aShare.wrappedKey,
      permissions: ['read'],
      encryptedMetadata: metadata,
      fileHash: document.fileHash,
      status: 'PENDING',
      version: null,
      expiresAt: null,
      createdAt: undefined,
      signature: null,
      sharer: null,
    },
  );
  for (const { api } of [owner, await createRecipient(t, vault)]) {
    t.deepEqual((await shared(api)).body, []);
  }
  await endShare(vault, shareId);
  t.deepEqual((await shared(recipient.api)).body, []);
});

test('shared documents are listed in pages, newest share first, under both prefixes', async (t) => {
  const { vault } = t.context;
  const owner = await createPerson(vault);
  const recipient = await createRecipient(t, vault);
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { id } = await storeDocument(t, owner.api);
    await share(owner.api, id, { recipientEmail: recipient.email });
    ids.unshift(id);
  }
  const page = async (path: string) => {
    const { headers, body } = await recipient.api.send('GET', path);
    const documents = Object.values(body).map(
      (item) => (item as { documentId: string }).documentId,
    );
    return { documents, next: nextPage(path, headers) };
  };
  const first = await page('/v1/documents/shared?limit=2');
  t.deepEqual(first.documents, ids.slice(0, 2));
  t.deepEqual(await page(first.next ?? ''), { documents: ids.slice(2), next: undefined });
  t.deepEqual((await page('/api/v1/documents/shared')).documents, ids);
  const alias = await page('/api/v1/documents/shared?limit=2');
  t.regex(alias.next ?? '', /^\/api\/v1\/documents\/shared\?limit=2&cursor=/);
  t.deepEqual(await page(alias.next ?? ''), { documents: ids.slice(2), next: undefined });
});

test('a shared document is not in the recipient’s own list', async (t) => {
  const { recipient } = await shareDocument(t);
  t.deepEqual((await recipient.api.send('GET', '/v1/documents')).body, []);
});

test('the audit route returns the proof of a shared document to its owner only', async (t) => {
  const { owner, recipient, id } = await shareDocument(t);
  const { proofId } = (await certify(owner.api, id)).body;
  const path = `/v1/audit/proof/${String(proofId)}`;
  t.is((await owner.api.send('GET', path)).status, 200);
  t.is((await recipient.api.send('GET', path)).status, 404);
});

test('a recipient who has moved to another tenant reads nothing', async (t) => {
  const { vault } = t.context;
  const { recipient, id } = await shareDocument(t);
  const { userId } = recipient;
  const moved = await createPerson(vault, { userId: randomUUID(), tenantId: 'elsewhere' });
  await createSql(vault)(
    'update document_shares set recipient_user_id = $2 where document_id = $1',
    [id, moved.userId],
  );
  for (const { rest } of readRoutes) t.is(await ask(vault, moved.api, id + rest), 404, rest);
  t.deepEqual((await moved.api.send('GET', '/v1/documents/shared')).body, []);
  t.not(moved.userId, userId);
});

test('row-level security refuses every write of a recipient to a shared document', async (t) => {
  const { vault } = t.context;
  const { owner, recipient, id } = await shareDocument(t);
  const sql = createSql(vault);
  await sql(
    `insert into document_keywords (user_id, keyword_hash, place, document_id, tenant_id)
     values ($1, $2, $3, $3, 'default')`,
    [owner.userId, 'ab'.repeat(32), id],
  );
  const app = await connectAs(vault.databases.app);
  t.teardown(() => app.end());
  const asRecipient = async (statement: string, values: unknown[] = []) => {
    await app.query('begin');
    try {
      await app.query(
        `select set_config('app.user_id', $1, true), set_config('app.tenant_id', 'default', true)`,
        [recipient.userId],
      );
      return (await app.query(statement, values)).rowCount;
    } finally {
      await app.query('rollback');
    }
  };
  t.is(await asRecipient('select 1 from documents where id = $1', [id]), 1);
  t.is(await asRecipient('select 1 from document_versions where document_id = $1', [id]), 1);

  const tables = ['document_versions', 'document_keywords', 'document_shares'];
  for (const table of tables) {
    const [row] = await sql(
      `select to_json(x) as row from ${table} x where document_id = $1 limit 1`,
      [id],
    );
    const own = {
      ...(row?.['row'] as object),
      user_id: recipient.userId,
      id: randomUUID(),
      version: 2,
      file_hash: 'cd'.repeat(32),
      storage_key: randomUUID(),
      recipient_ref: randomUUID(),
    };
    for (const forged of [own, { ...own, user_id: owner.userId }]) {
      const insert = `insert into ${table} select * from json_populate_record(null::${table}, $1)`;
      const error = await t.throwsAsync(asRecipient(insert, [JSON.stringify(forged)]));
      t.is((error as { code?: string }).code, '42501', table);
    }
  }
  for (const table of ['documents', ...tables]) {
    const where = table === 'documents' ? 'id' : 'document_id';
    t.is(
      await asRecipient(`update ${table} set tenant_id = tenant_id where ${where} = $1`, [id]),
      0,
    );
    t.is(await asRecipient(`delete from ${table} where ${where} = $1`, [id]), 0);
    t.is(await asRecipient(`select 1 from ${table} where ${where} = $1 for update`, [id]), 0);
  }
});

test('reserved path segments are not taken for document ids', async (t) => {
  const { api } = await createPerson(t.context.vault);
  for (const prefix of ['/v1', '/api/v1']) {
    const shared = await api.send('GET', `${prefix}/documents/shared`);
    t.deepEqual([shared.status, shared.body], [200, []]);
    const key = await api.send('POST', `${prefix}/documents/share-key`, { json: {} });
    t.deepEqual(key.body.details, [{ path: 'recipientEmail', message: 'is required' }]);
  }
});
