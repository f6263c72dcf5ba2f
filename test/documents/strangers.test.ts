import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { listRoutes } from '../../app/wiring/routes.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import {
  certify,
  metadataOf,
  storeDocument,
  storeVersion,
} from '../support/documents/documents.ts';
import { expireDocument } from '../support/documents/rows.ts';

interface Scene {
  readonly vault: Vault;
  readonly sql: Sql;
  readonly owner: Api;
  /** The ids of the owner's documents in every state, and one that no document has. */
  readonly ids: Readonly<Record<string, string>>;
  readonly strangers: Readonly<Record<string, Api>>;
}

const test = anyTest as TestFn<Scene>;

test.before(async (t) => {
  const vault = sharedVault();
  const sql = createSql(vault);
  const owner = await createApi(vault);
  const [pending, sealed, expired] = [
    await storeDocument(t, owner),
    await storeDocument(t, owner),
    await storeDocument(t, owner),
  ];
  await certify(owner, sealed.id);
  await storeVersion(t, owner, sealed.id);
  await certify(owner, sealed.id);
  await expireDocument(sql, expired.id);
  t.context = {
    vault,
    sql,
    owner,
    ids: { pending: pending.id, sealed: sealed.id, expired: expired.id, unknown: randomUUID() },
    strangers: {
      'another user': await createApi(vault),
      'the same user in another tenant': await createApi(vault, {
        userId: owner.caller.userId,
        tenantId: 'other',
      }),
      'a user with every role but the admin one': await createApi(vault, {
        roles: ['user', 'auditor', 'operator'],
      }),
    },
  };
});

/** A statement of nothing, which nobody is told of before they may see the document. */
const statement = { statement: '{}', signature: `${'A'.repeat(86)}==` };

/** Valid request bodies, by the last segment of the path. */
const bodies: Record<string, object> = {
  versions: { storagePath: `${randomUUID()}/no-file` },
  metadata: { encryptedMetadata: metadataOf('mine now'), keywordDeterministic: [] },
  share: { recipientId: randomUUID(), wrappedKey: 'QUJD', permissions: ['read'] },
  certify: statement,
  ':id': statement,
  ':shareId': statement,
};

/** Headers with a precondition that holds, and without any. */
const conditions: Record<string, string>[] = [{ 'If-Match': '*' }, {}];

const routes = listRoutes().flatMap(({ method, path, aliases = [], body }) =>
  [path, ...aliases].flatMap((name) =>
    name.includes('/documents/:id') ? [{ method: method.toUpperCase(), name, body }] : [],
  ),
);

/** Returns everything that is stored about the owner's documents. */
async function snapshot({ sql, ids }: Scene) {
  const all = [Object.values(ids)];
  return [
    await sql('select * from documents where id = any($1) order by id', all),
    await sql('select * from document_versions where document_id = any($1) order by 1, 2', all),
    await sql('select * from document_keywords where document_id = any($1)', all),
    await sql('select * from document_shares where document_id = any($1)', all),
    await sql('select id from audit_entries where resource_id = any($1) order by id', all),
  ];
}

test('the routes of a document are listed', (t) => t.true(routes.length >= 20));

for (const { method, name, body } of routes) {
  const ending = name.split('/').at(-1) ?? '';
  test.serial(`${method} ${name} finds nothing for anyone but the owner`, async (t) => {
    const { ids, strangers } = t.context;
    const json =
      body === undefined
        ? undefined
        : (bodies[ending] ?? t.fail(`add a valid body for ${ending} to bodies above`));
    const before = await snapshot(t.context);
    for (const [who, api] of Object.entries(strangers)) {
      for (const [what, id] of Object.entries(ids)) {
        const path = name.replace(':id', id).replace(/:\w+/g, randomUUID());
        for (const headers of conditions) {
          const answer = await api.send(method, path, {
            ...(json === undefined ? {} : { json }),
            headers,
          });
          const { status, body } = answer;
          t.deepEqual(
            [status, body.code, body.message, answer.headers.get('etag')],
            [404, 'not_found', 'No such resource, or you have no access to it.', null],
            `${who}, ${what}`,
          );
        }
      }
    }
    t.deepEqual(await snapshot(t.context), before);
  });
}
