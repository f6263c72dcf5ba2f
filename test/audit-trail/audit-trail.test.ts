import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import canonicalize from 'canonicalize';
import { until } from '../../app/dev/processes/until.ts';
import { createVaultClient } from '../../client/vault.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { eventOf, openTrail } from '../support/audit/entries.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

test('the entries of a resource are numbered without gaps despite rollbacks', async (t) => {
  const { sql, vault } = t.context;
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const { db, trail, owner } = open;
  const resource = randomUUID();
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) =>
      db.asUser(owner, async (tx) => {
        await trail.append(tx, eventOf(owner, resource));
        if (i % 3 === 0) throw new Error('changed its mind');
      }),
    ),
  );
  for (const result of results) {
    if (result.status === 'rejected') t.is(String(result.reason), 'Error: changed its mind');
  }
  const kept = results.filter(({ status }) => status === 'fulfilled').length;
  t.is(kept, 33);
  const rows = await sql(
    'select seq, canonical from audit_entries where resource_id = $1 order by seq',
    [resource],
  );
  t.deepEqual(
    rows.map(({ seq }) => Number(seq)),
    Array.from({ length: kept }, (_, i) => i + 1),
  );
  for (const { seq, canonical } of rows) {
    const entry = JSON.parse(String(canonical)) as { seq: number };
    t.is(entry.seq, Number(seq));
    t.is(canonicalize(entry), String(canonical));
  }
});

test('resources of one id with other owners or types are numbered separately', async (t) => {
  const { sql, vault } = t.context;
  const [one, other] = [await openTrail(vault), await openTrail(vault)];
  t.teardown(() => Promise.all([one.close(), other.close()]));
  const id = randomUUID();
  for (const { db, trail, owner } of [one, other]) {
    await db.asUser(owner, async (tx) => {
      await trail.append(tx, eventOf(owner, id));
      await trail.append(tx, eventOf(owner, id, { resource: { type: 'document', id } }));
    });
  }
  const rows = await sql('select seq from audit_entries where resource_id = $1', [id]);
  t.deepEqual(
    rows.map(({ seq }) => Number(seq)),
    [1, 1, 1, 1],
  );
});

test('an entry that cannot be appended rolls back its transaction', async (t) => {
  const { sql, vault } = t.context;
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  const { db, trail, owner } = open;
  const id = randomUUID();
  await t.throwsAsync(
    db.asUser(owner, async (tx) => {
      await trail.append(tx, eventOf(owner, id, { entryId: id }));
      await trail.append(tx, eventOf(owner, id, { entryId: id }));
    }),
  );
  t.deepEqual(await sql('select 1 from audit_entries where id = $1', [id]), []);
  t.deepEqual(await sql('select 1 from audit_trails where resource_id = $1', [id]), []);
});

test('nobody can add an entry to another user’s trail, or change one', async (t) => {
  const open = await openTrail(t.context.vault);
  t.teardown(() => open.close());
  const { db, trail, owner } = open;
  const stranger = { userId: randomUUID(), tenantId: 'default' };
  await t.throwsAsync(db.asUser(stranger, (tx) => trail.append(tx, eventOf(owner, randomUUID()))));
  await db.asUser(owner, (tx) => trail.append(tx, eventOf(owner, randomUUID())));
  await t.throwsAsync(
    db.asUser(owner, (tx) => tx.updateTable('audit_log').set({ canonical: '{}' }).execute()),
  );
  await t.throwsAsync(db.asUser(owner, (tx) => tx.deleteFrom('audit_log').execute()));
});

test('no entry contains an e-mail address', async (t) => {
  const { sql, vault } = t.context;
  const client = createVaultClient({ baseUrl: vault.baseUrl });
  // The e-mail address is so long that no random base64 contains it by chance.
  const email = `wonderland.${randomUUID()}@example.org`;
  const credentials = { email, password: 'right horse' };
  await until(() => vault.services.health.isReady(), {
    what: 'the signer',
    timeoutMs: 60_000,
  });
  await client.register(credentials);
  const mail = await until(() => findMail(vault, credentials.email), {
    what: 'the mail',
    timeoutMs: 60_000,
  });
  await client.validateEmail(/^Token: (\S+)/m.exec(mail)?.[1] ?? '');
  const session = await client.login(credentials);
  await session.envelopes.createMasterKey();

  const rows = await sql('select action, canonical from audit_entries', []);
  const actions = new Set(rows.map(({ action }) => action));
  for (const action of ['account.registered', 'account.activated', 'auth.login']) {
    t.true(actions.has(action), action);
  }
  for (const { action, canonical } of rows)
    t.notRegex(String(canonical), /@|wonderland/i, String(action));
});

async function findMail(vault: TestVault, email: string): Promise<string | undefined> {
  const directory = vault.mailDirectory;
  for (const name of await readdir(directory)) {
    if (!name.endsWith('.eml')) continue;
    const text = await readFile(path.join(directory, name), 'utf8');
    if (text.includes(email)) return text;
  }
  return undefined;
}
