import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { bytesOf } from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { storeDocument } from '../../support/documents/documents.ts';
import { codeOf, download } from './downloads.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

async function share(sql: Sql, owner: Api, id: string, recipient: Api, expiresAt: Date | null) {
  await sql(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref,
       recipient_user_id, wrapped_key, permissions, expires_at)
     values ($1, $2, 'default', $3, $4, $5, 'AAAA', '{read}', $6)`,
    [randomUUID(), owner.caller.userId, id, randomUUID(), recipient.caller.userId, expiresAt],
  );
}

test('a file is readable by its owner, and by recipients until their share expires', async (t) => {
  const { vault, sql } = t.context;
  const [owner, reader] = [await createApi(vault), await createApi(vault)];
  const [late, stranger] = [await createApi(vault), await createApi(vault)];
  const bytes = bytesOf(100);
  const { id } = await storeDocument(t, owner, bytes);
  await share(sql, owner, id, reader, new Date(Date.now() + 60_000));
  await share(sql, owner, id, late, new Date(Date.now() - 1000));
  const elsewhere = await createApi(vault, { userId: owner.caller.userId, tenantId: 'other' });
  for (const target of [`${id}/download`, `${id}/download?version=1`]) {
    t.true((await download(vault, reader, target)).bytes.equals(bytes));
    for (const other of [late, stranger, elsewhere]) {
      const answer = await download(vault, other, target);
      t.is(answer.status, 404);
      t.is(codeOf(answer), 'not_found');
    }
  }
});
