import anyTest, { type TestFn } from 'ava';
import { nextCursor } from '../../client/http/pages.ts';
import { createPerson, createRecipient, share } from '../support/documents/people.ts';
import type { Api } from '../support/documents/uploads.ts';
import { createSql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import { insertNamed, keyword } from './search/searching.ts';

const test = anyTest as TestFn<{ vault: Vault }>;

test.before(async (t) => {
  t.context.vault = sharedVault();
});

const count = 100;

/** Reads all pages of a list by following the links; returns each page's ids and size in bytes. */
async function readPages(api: Api, method: string, path: string, idName: string, json?: unknown) {
  const pages: { readonly ids: string[]; readonly bytes: number }[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const query = `?limit=1000${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const { headers, body } = await api.send(
      method,
      path + query,
      json === undefined ? {} : { json },
    );
    const items = body as unknown as Record<string, string>[];
    pages.push({
      ids: items.map((item) => item[idName] ?? ''),
      bytes: JSON.stringify(body).length,
    });
    cursor = nextCursor(headers.get('link'));
  }
  return pages;
}

test('a page ends before it grows too large, and the next continues without a gap', async (t) => {
  const { vault } = t.context;
  const sql = createSql(vault);
  const owner = await createPerson(vault);
  const recipient = await createRecipient(t, vault);
  const hashes = [keyword(1), keyword(2)];
  const made = await insertNamed(
    sql,
    owner.api.caller,
    Array.from({ length: count }, () => hashes),
  );
  const largest = Buffer.alloc(65_536).toString('base64');
  await sql('update document_versions set encrypted_metadata = $1 where user_id = $2', [
    largest,
    owner.userId,
  ]);
  for (const id of made) {
    t.is((await share(owner.api, id, { recipientEmail: recipient.email })).status, 201);
  }
  const ids = made.toReversed();
  const lists = [
    await readPages(owner.api, 'GET', '/v1/documents', 'id'),
    await readPages(owner.api, 'POST', '/v1/documents/search', 'id', { any: hashes }),
    await readPages(owner.api, 'POST', '/v1/documents/search', 'id', { all: hashes }),
    await readPages(recipient.api, 'GET', '/v1/documents/shared', 'documentId'),
  ];
  for (const pages of lists) {
    t.deepEqual(
      pages.flatMap((page) => page.ids),
      ids,
    );
    t.true(pages.length > 8 && pages.length < 12, `${pages.length} pages`);
    for (const { bytes } of pages) t.true(bytes < 1_100_000, `${bytes} bytes`);
  }
});
