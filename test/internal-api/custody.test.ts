import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createApiKey, hashApiKey, type ApiKey } from '../../app/internal-api/api-key-format.ts';
import { send } from '../support/http/send.ts';
import { createKeyFile, writeKeys } from '../support/vault/key-file.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault } from '../support/vault/vault.ts';

async function startWithKeys(t: ExecutionContext) {
  const keys = await createKeyFile();
  const vault = await startReadyVault({
    HTTP_INTERNAL_ROUTES: 'both',
    INTERNAL_API_KEYS_FILE: keys.path,
  });
  t.teardown(async () => {
    await vault.stop();
    await keys.remove();
  });
  return { keys, vault, sql: createSql(vault) };
}

/** Returns the data of the entries of an action, oldest first. */
async function dataOf(sql: Sql, action: string) {
  const rows = await sql('select canonical from audit_entries where action = $1 order by seq', [
    action,
  ]);
  return rows.map(({ canonical }) => JSON.parse(String(canonical)) as Record<string, unknown>);
}

const untilCount = (sql: Sql, action: string, count: number) =>
  until(
    async () => {
      const entries = await dataOf(sql, action);
      return entries.length >= count && entries;
    },
    { what: `${count} entries of ${action}`, timeoutMs: 60_000 },
  );

const shown = ({ name, sha256, admin }: ApiKey) => ({
  name,
  fingerprint: sha256.slice(0, 16),
  admin,
});

test('every other set of internal API keys becomes an entry, without the keys', async (t) => {
  const { keys, vault, sql } = await startWithKeys(t);
  const before = [
    { name: 'test-admin', fingerprint: hashApiKey(keys.admin).slice(0, 16), admin: true },
    { name: 'test-plain', fingerprint: hashApiKey(keys.plain).slice(0, 16), admin: false },
  ];
  const [first] = await untilCount(sql, 'internal_keys.configured', 1);
  t.deepEqual(first?.data, { keys: before });
  const added = createApiKey({ name: 'added', admin: true });
  await writeKeys(keys.path, [added.kept]);
  await untilCount(sql, 'internal_keys.configured', 2);
  await writeKeys(keys.path, [{ ...added.kept }]);
  await writeKeys(keys.path, []);
  const entries = await untilCount(sql, 'internal_keys.configured', 3);
  t.deepEqual(
    entries.map(({ data }) => data),
    [{ keys: before }, { keys: [shown(added.kept)] }, { keys: [] }],
  );
  const text = JSON.stringify(entries) + vault.logLines.join('');
  for (const key of [keys.admin, keys.plain, added.key]) t.false(text.includes(key));
});

test('the uses of an internal API key are counted by key, route and minute', async (t) => {
  const { keys, vault, sql } = await startWithKeys(t);
  const ask = async (path: string, key: string) =>
    (await send('GET', vault.baseUrl + path, { headers: { 'X-Internal-Api-Key': key } })).status;
  const status = '/v1/auth/purge/status';
  t.is(await ask(status, keys.admin), 200);
  t.is(await ask(status, keys.admin), 200);
  t.is(await ask('/v1/audit/proof/dlq/stats', keys.admin), 200);
  t.is(await ask(status, keys.plain), 403);
  t.is(await ask(status, 'guessed'), 401);
  // The minute of the requests is over.
  await sql("update audit_tallies set minute = minute - interval '2 minutes'");
  const entries = await untilCount(sql, 'internal_key.used', 2);
  const counts: Record<string, number> = {};
  for (const entry of entries) {
    t.deepEqual(entry.actor, { type: 'system', id: 'test-admin' });
    const { route, count } = entry.data as { readonly route: string; readonly count: number };
    counts[route] = (counts[route] ?? 0) + count;
  }
  t.deepEqual(counts, { [`GET ${status}`]: 2, 'GET /v1/audit/proof/dlq/stats': 1 });
});
