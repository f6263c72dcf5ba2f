import test from 'ava';
import { storeDocument } from '../support/documents/documents.ts';
import { createApi } from '../support/documents/uploads.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { createSql } from '../support/vault/sql.ts';
import { countRows, storedUsage } from '../support/vault/usage.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { testIssuer } from '../support/vault/stack.ts';

test('usage finds counters that differ from the rows, and repairs them', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const run = (...args: string[]) =>
    runCli(['usage', ...args], {
      HTTP_PUBLIC_URL: testIssuer,
      DATABASE_SERVICE_URL: vault.databases.service,
    });
  const right = { code: 0, stdout: 'every counter is right\n', stderr: '' };
  t.deepEqual(await run(), right);
  const [one, two] = [await createApi(vault), await createApi(vault)];
  await storeDocument(t, one);
  await storeDocument(t, two);
  t.deepEqual(await run(), right);

  const [first, second] = [one.caller.userId, two.caller.userId];
  await sql('update usage set documents = 7 where user_id = $1', [first]);
  await sql('delete from usage where user_id = $1', [second]);
  const found = await run();
  t.is(found.code, 0);
  t.regex(found.stdout, new RegExp(`^${first} default documents: 7, but 1 in the rows$`, 'm'));
  t.regex(found.stdout, new RegExp(`^${second} default uploads: 0, but 1 in the rows$`, 'm'));
  t.regex((await run('--repair')).stdout, /^repaired the counters of 2 users$/m);
  t.deepEqual(await run(), right);
  for (const userId of [first, second]) {
    t.deepEqual(await storedUsage(sql, userId), await countRows(sql, userId));
  }
});
