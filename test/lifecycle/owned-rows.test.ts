import test from 'ava';
import { fates } from '../../app/lifecycle/owned-rows.ts';
import { createSql } from '../support/vault/sql.ts';
import { startVault } from '../support/vault/vault.ts';

test('every table with owners has a fate when an account is closed or moved', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const owned = await createSql(vault)(
    `select table_name as name from information_schema.columns
       join information_schema.tables using (table_schema, table_name)
     where table_schema = 'public' and column_name in ('user_id', 'tenant_id')
       and table_type = 'BASE TABLE'
       and not (select relispartition from pg_class where oid = table_name::regclass)
     group by table_name having count(*) = 2 order by 1`,
  );
  t.true(owned.length > 15);
  t.deepEqual(
    Object.keys(fates).toSorted(),
    owned.map(({ name }) => String(name)),
  );
});
