import test from 'ava';
import { Client } from 'pg';
import { storeDocument } from '../../support/documents/documents.ts';
import { bytesOf } from '../../support/documents/files.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { download } from './downloads.ts';

/** Records the statements of this process, by transaction, until the test ends. */
function recordTransactions(teardown: (end: () => void) => void): string[][] {
  const { query } = Client.prototype;
  teardown(() => {
    Client.prototype.query = query;
  });
  const transactions: string[][] = [];
  const open = new WeakMap<Client, string[]>();
  Client.prototype.query = function (this: Client, ...args: unknown[]) {
    const [config] = args as [string | { readonly text: string }];
    const text = typeof config === 'string' ? config : config.text;
    if (/^\s*(begin|start transaction)/i.test(text)) {
      const statements: string[] = [];
      open.set(this, statements);
      transactions.push(statements);
    }
    open.get(this)?.push(text);
    return Reflect.apply(query, this, args) as unknown;
  } as typeof query;
  return transactions;
}

test('a download costs one statement more than reading which file it is', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const owner = await createApi(vault);
  const { id } = await storeDocument(t, owner, bytesOf(1_000));
  const transactions = recordTransactions((end) => t.teardown(end));
  const statementsFor = async (method: 'HEAD' | 'GET') => {
    transactions.length = 0;
    t.is((await download(vault, owner, `${id}/download`, { method })).status, 200);
    const ofFile = transactions.filter((texts) =>
      texts.some((text) => text.includes('from "document_versions"')),
    );
    t.is(ofFile.length, 1, 'the file is looked up in one transaction');
    return ofFile[0] ?? [];
  };
  const [head, get] = [await statementsFor('HEAD'), await statementsFor('GET')];
  const isBegin = (text: string) => text.includes('insert into downloads');
  t.deepEqual(
    get.filter((text) => !isBegin(text)),
    head,
  );
  t.is(get.length, head.length + 1, get.join('\n'));
});
