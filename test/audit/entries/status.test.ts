import anyTest, { type TestFn } from 'ava';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { become, sealEntries } from '../sealing/sealed.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  // Without the worker no tally of these reads becomes an entry while the test runs.
  await vault.services.tallies.stop();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const askStatus = async (api: Api, query = '') =>
  (await api.send('GET', `/v1/audit/proof/status${query}`)).body;

const wrongHash = `update audit_seals set hash = sha256('') where entry_id = $1`;

test.serial('the status counts how many of the caller’s newest entries verify now', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const [oldest] = await sealEntries(vault, sql, api.caller, 5);
  await sealEntries(vault, sql, (await createApi(vault)).caller, 2);
  t.deepEqual((await askStatus(api)) as unknown, {
    checked: 5,
    valid: 5,
    invalid: 0,
    pending: 0,
    message: 'All 5 signed entries are valid.',
  });
  await sql(wrongHash, [oldest]);
  t.like(await askStatus(api, '?limit=4'), { checked: 4, valid: 4, invalid: 0 });
  t.deepEqual((await askStatus(api, '?limit=5')) as unknown, {
    checked: 5,
    valid: 4,
    invalid: 1,
    pending: 0,
    message: '1 of 5 signed entries are NOT valid.',
  });
});

test.serial(
  'unsigned entries are counted apart from invalid ones, and erased ones are left out',
  async (t) => {
    const { vault, sql } = t.context;
    const api = await createApi(vault);
    const [pending, dead, abandoned, erased] = await sealEntries(vault, sql, api.caller, 6);
    await sql(become.pending, [pending]);
    await sql(become.dead, [dead]);
    await sql(become.abandoned, [abandoned]);
    await sql(become.erased, [erased]);
    t.deepEqual((await askStatus(api)) as unknown, {
      checked: 2,
      valid: 2,
      invalid: 0,
      pending: 2,
      message:
        'All 2 signed entries are valid. 2 pending: not signed yet. ' +
        '1 given up: a signed tombstone says so.',
    });
  },
);

test.serial('a user with the owner’s id in another tenant sees none of the entries', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  await sealEntries(vault, sql, api.caller, 1);
  const { userId } = api.caller;
  const stranger = await createApi(vault, { userId, tenantId: 'other' });
  t.like(await askStatus(stranger), { checked: 0, valid: 0, invalid: 0, pending: 0 });
});

test.serial('auditors and administrators get the status of everyone’s entries', async (t) => {
  const { vault, sql } = t.context;
  const [id] = await sealEntries(vault, sql, (await createApi(vault)).caller, 1);
  for (const role of ['auditor', 'probatio_admin']) {
    const api = await createApi(vault, { roles: ['user', role] });
    t.like(await askStatus(api, '?limit=1'), { checked: 1, valid: 1, invalid: 0 });
  }
  await sql(wrongHash, [id]);
  const auditor = await createApi(vault, { roles: ['auditor'] });
  t.like(await askStatus(auditor, '?limit=1'), { checked: 1, valid: 0, invalid: 1 });
});

test.serial('a user without entries has nothing to verify', async (t) => {
  const api = await createApi(t.context.vault);
  t.like(await askStatus(api), { checked: 0, valid: 0, invalid: 0, pending: 0 });
});

test.serial('a limit outside 1 to 1000 is refused', async (t) => {
  const api = await createApi(t.context.vault);
  for (const query of [
    '?limit=0',
    '?limit=1001',
    '?limit=-1',
    '?limit=x',
    '?limit=1.5',
    '?more=1',
  ]) {
    t.is((await api.send('GET', `/v1/audit/proof/status${query}`)).status, 400, query);
  }
});
