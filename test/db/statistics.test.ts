import test from 'ava';
import { createSql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';

test('no table that users read has statistics of them, and no month of the log', async (t) => {
  const sql = createSql(sharedVault());
  const columns = await sql(
    `select c.relname || '.' || a.attname as name, a.attstattarget as target
     from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and a.attname in ('user_id', 'recipient_user_id') and not a.attisdropped
       and exists (select from pg_policy p where '{probatio_app}'::regrole[]::oid[] && p.polroles
         and p.polcmd in ('*', 'r')
         and p.polrelid in (c.oid, (select inhparent from pg_inherits where inhrelid = c.oid)))`,
  );
  t.true(columns.length > 30, `${columns.length} columns`);
  const kept = columns.filter(({ target }) => target !== 0).map(({ name }) => name);
  t.deepEqual(kept, []);
});
