import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { Client } from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { until } from '../../app/dev/processes/until.ts';
import { canonicalText } from '../../app/json/canonical-text.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { sampleEntry } from '../signer/sample-entry.ts';
import type { AuditEntry } from '../../signer/protocol/entry.ts';

/** Acts as whoever holds a database login of the app, and inserts entries without the app. */
const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});

test.after.always((t) => t.context.vault.stop());

/** Returns an entry of the user's own document, as the app would append it. */
function entryOf({ caller }: Api, change: Partial<AuditEntry> = {}): AuditEntry {
  return sampleEntry({
    id: uuidv7(),
    actor: { type: 'user', id: caller.userId },
    tenant: caller.tenantId,
    action: 'document.sealed',
    resource: { type: 'document', id: randomUUID(), owner: caller.userId },
    ...change,
  });
}

interface Insertion {
  /** The entry whose text is inserted. */
  readonly text: AuditEntry;
  /** The entry that the columns of the row repeat. */
  readonly row: AuditEntry;
  /** More columns with their SQL values. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Inserts an entry with a login of the app, as a user that the login chooses itself. */
async function insert(url: string, { caller }: Api, { text, row, more = {} }: Insertion) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(
      `select set_config('app.user_id', $1, true), set_config('app.tenant_id', $2, true)`,
      [caller.userId, caller.tenantId],
    );
    const columns = ['', ...Object.keys(more)].join(', ');
    const values = ['', ...Object.values(more)].join(', ');
    await client.query(
      `with trail as (
         insert into audit_trails (user_id, tenant_id, resource_type, resource_id, last_seq)
         values ($2, $3, $4, $5, 1) returning id
       )
       insert into audit_log (id, user_id, tenant_id, trail_id, seq, action, canonical${columns})
       select $1::uuid, $2::uuid, $3::text, id, 1, $6, $7${values} from trail`,
      [
        row.id,
        caller.userId,
        caller.tenantId,
        row.resource.type,
        row.resource.id,
        row.action,
        canonicalText(text),
      ],
    );
    await client.query('commit');
  } finally {
    await client.end();
  }
}

async function outcomeOf(sql: Sql, id: string) {
  const [row] = await until(
    async () => {
      const rows = await sql(
        `select e.state, e.signature, l.reason from audit_entries e
         left join audit_dead_letters l on l.entry_id = e.id where e.id = $1`,
        [id],
      );
      return rows[0]?.['state'] !== 'PENDING' && rows;
    },
    { what: 'the sealer to decide', timeoutMs: 60_000 },
  );
  return row;
}

const victim = randomUUID();
const forgeries: Record<string, (own: AuditEntry) => Partial<AuditEntry>> = {
  'of 2016': () => ({ timestamp: '2016-02-29T12:00:00.000Z' }),
  'of 2030': () => ({ timestamp: '2030-01-01T00:00:00.000Z' }),
  'of two minutes ago': () => ({ timestamp: new Date(Date.now() - 120_000).toISOString() }),
  'of another owner': ({ resource }) => ({ resource: { ...resource, owner: victim } }),
  'of no owner': ({ resource }) => ({ resource: { ...resource, owner: null } }),
  'of another tenant': () => ({ tenant: 'acme' }),
  'of no tenant': () => ({ tenant: null }),
  'of another document': ({ resource }) => ({ resource: { ...resource, id: randomUUID() } }),
  'of another kind of resource': ({ resource }) => ({ resource: { ...resource, type: 'key' } }),
  'with another number': () => ({ seq: 7 }),
  'with another action': () => ({ action: 'account.granted' }),
  'with another id': () => ({ id: uuidv7() }),
};

for (const [what, change] of Object.entries(forgeries)) {
  test(`an entry ${what} than its row is never signed, whichever login inserts it`, async (t) => {
    const { vault, sql } = t.context;
    const { app, service } = vault.databases;
    for (const url of [app, service]) {
      const api = await createApi(vault);
      const row = entryOf(api);
      await insert(url, api, { text: { ...row, ...change(row) }, row });
      t.deepEqual(await outcomeOf(sql, row.id), {
        state: 'DEAD',
        signature: null,
        reason: 'row_mismatch',
      });
      const retried = await (
        await createApi(vault, { roles: ['operator'] })
      ).send('POST', `/v1/audit/proof/dlq/${row.id}/retry`);
      t.like(retried.body, { status: 'PENDING', lastError: 'row_mismatch' });
    }
  });
}

const chosen: Record<string, Readonly<Record<string, string>>> = {
  'creation time': { created_at: `'2016-02-29T12:00:00Z'` },
  'time of erasure': { erased_at: `'2016-02-29T12:00:00Z'` },
};
for (const [what, more] of Object.entries(chosen)) {
  test(`no login can choose the ${what} of an entry that it inserts`, async (t) => {
    const { vault } = t.context;
    const { app, service } = vault.databases;
    for (const url of [app, service]) {
      const api = await createApi(vault);
      const row = entryOf(api);
      await t.throwsAsync(insert(url, api, { text: row, row, more }), {
        message: /permission denied/,
      });
    }
  });
}

const strangeNumbers: Record<string, string> = {
  'that its trail did not give out': 'select id, last_seq + 1 from audit_trails where user_id = $1',
  'of another owner’s trail': 'select id, last_seq + 1 from audit_trails where user_id <> $1',
  'of no trail': 'select 0, 1 where $1::uuid is not null',
};
for (const [what, numbers] of Object.entries(strangeNumbers)) {
  test(`no login inserts an entry with a number ${what}`, async (t) => {
    const { vault, sql } = t.context;
    const api = await createApi(vault);
    const { userId, tenantId } = api.caller;
    for (const owner of [api, await createApi(vault)]) {
      const row = entryOf(owner);
      await insert(vault.databases.app, owner, { text: row, row });
    }
    const [number] = await sql(`select id, seq from (${numbers}) n (id, seq) limit 1`, [userId]);
    for (const url of [vault.databases.app, vault.databases.service]) {
      const client = new Client({ connectionString: url });
      await client.connect();
      t.teardown(() => client.end());
      await client.query(
        `select set_config('app.user_id', $1, false), set_config('app.tenant_id', $2, false)`,
        [userId, tenantId],
      );
      const refused = client.query(
        `insert into audit_log (id, user_id, tenant_id, trail_id, seq, action, canonical)
         values (uuidv7(), $1, $2, $3, $4, 'upload.created', '{}')`,
        [userId, tenantId, number?.['id'], number?.['seq']],
      );
      await t.throwsAsync(refused, { code: '23503' });
    }
  });
}

test('no login can change the creation time, the owner or the number of an entry', async (t) => {
  const { vault } = t.context;
  for (const url of [vault.databases.app, vault.databases.service]) {
    const client = new Client({ connectionString: url });
    await client.connect();
    t.teardown(() => client.end());
    for (const change of ["created_at = '2016-02-29'", 'user_id = gen_random_uuid()', 'seq = 99']) {
      await t.throwsAsync(client.query(`update audit_log set ${change}`), {
        message: /permission denied/,
      });
    }
  }
});

test('whoever holds the app’s login can act as any owner, though only now', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const row = entryOf(api);
  const before = Date.now();
  await insert(vault.databases.app, api, { text: row, row });
  t.like(await outcomeOf(sql, row.id), { state: 'SEALED' });
  const { body } = await api.send('GET', `/v1/audit/proof/${row.id}`);
  const { sealedAt, late } = JSON.parse(String(body['entryCanonical'])) as Record<string, string>;
  t.true(Date.parse(sealedAt ?? '') >= before && late === undefined);
});
