import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { become, sealEntries } from '../sealing/sealed.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const verifyBatch = (api: Api, ids: unknown) =>
  api.send('POST', '/v1/audit/proof/verify-batch', { json: { ids } });

const byActive = { keyState: 'ACTIVE', imported: false };
const right = { valid: true, hashValid: true, signatureValid: true, ...byActive };
const wrong = { valid: false, hashValid: false, signatureValid: false };

test('each entry of a batch is verified once, in whatever case its id is written', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const [first = '', second = ''] = await sealEntries(vault, sql, api.caller, 2);
  const { status, body } = await verifyBatch(api, [first, second, first, second.toUpperCase()]);
  t.is(status, 200);
  t.deepEqual(body as unknown, {
    total: 2,
    valid: 2,
    invalid: 0,
    results: { [first]: right, [second]: right },
  });
});

test('a batch names the reason for each entry that it could not verify', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const [good = '', pending = '', dead = '', abandoned = '', erased = ''] = await sealEntries(
    vault,
    sql,
    api.caller,
    5,
  );
  await sql(become.pending, [pending]);
  await sql(become.dead, [dead]);
  await sql(become.abandoned, [abandoned]);
  await sql(become.erased, [erased]);
  const unknown = randomUUID();
  const stranger = await createApi(vault);
  const [foreign = ''] = await sealEntries(vault, sql, stranger.caller, 1);
  const ids = [pending, dead, abandoned, erased, unknown, foreign, good];
  t.deepEqual((await verifyBatch(api, ids)).body as unknown, {
    total: 7,
    valid: 1,
    invalid: 6,
    results: {
      [pending]: { ...wrong, reason: 'proof_not_ready' },
      [dead]: { ...wrong, reason: 'proof_not_ready' },
      [abandoned]: { ...wrong, reason: 'entry_unrecoverable' },
      [erased]: { ...wrong, reason: 'entry_erased' },
      [unknown]: { ...wrong, reason: 'not_found' },
      [foreign]: { ...wrong, reason: 'not_found' },
      [good]: right,
    },
  });
});

test('the owner’s id in another tenant finds nothing, an auditor everything', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const ids = await sealEntries(vault, sql, api.caller, 2);
  const { userId } = api.caller;
  const asked = async (as: Parameters<typeof createApi>[1]) =>
    (await verifyBatch(await createApi(vault, as), ids)).body.valid;
  t.is(await asked({ userId, tenantId: 'other' }), 0);
  t.is(await asked({ roles: ['user', 'operator'] }), 0);
  t.is(await asked({ roles: ['user', 'auditor'] }), 2);
  t.is(await asked({ roles: ['user', 'probatio_admin'] }), 2);
});

test('every alteration in the database changes the next verdict', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const [id = '', other = ''] = await sealEntries(vault, sql, api.caller, 2);
  const [stored] = await sql('select * from audit_entries where id = $1', [id]);
  const [another] = await sql('select * from audit_entries where id = $1', [other]);
  const verdict = async () =>
    ((await verifyBatch(api, [other, id])).body.results as Record<string, unknown>)[id];
  const tamper = (column: string, value: unknown) =>
    column === 'canonical'
      ? sql('update audit_log set canonical = $2 where id = $1', [id, value])
      : sql(`update audit_seals set ${column} = decode($2, $3) where entry_id = $1`, [
          id,
          value,
          column === 'signature' ? 'base64' : 'hex',
        ]);
  const wrongText = { ...wrong, ...byActive };
  const wrongHash = { ...right, valid: false, hashValid: false, reason: 'hash_mismatch' };
  const wrongSignature = { ...right, valid: false, signatureValid: false };
  const invalid = { ...wrongSignature, reason: 'signature_invalid' };
  const changes: [column: string, value: unknown, expected: object][] = [
    [
      'canonical',
      String(stored?.canonical).replace('created', 'removed'),
      { ...wrongText, reason: 'hash_mismatch' },
    ],
    ['canonical', `${String(stored?.canonical)} `, { ...wrongText, reason: 'not_canonical' }],
    ['canonical', 'no JSON', { ...wrongText, reason: 'not_canonical' }],
    ['hash', '0'.repeat(64), wrongHash],
    ['signature', another?.signature, invalid],
    ['signature', 'AAAA', invalid],
    [
      'key_id',
      '0'.repeat(32),
      { valid: false, hashValid: true, signatureValid: false, reason: 'key_id_mismatch' },
    ],
  ];
  for (const [column, value, expected] of changes) {
    t.deepEqual(await verdict(), right);
    await tamper(column, value);
    t.deepEqual(await verdict(), expected, `${column} ${String(value)}`);
    await tamper(column, stored?.[column]);
  }
  t.deepEqual(await verdict(), right);
});

test('a batch takes a thousand entries and no more', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const ids = await sealEntries(vault, sql, api.caller, 1_000);
  await sql(`update audit_seals set hash = sha256('') where entry_id = $1`, [ids[777]]);
  const { status, body } = await verifyBatch(api, ids);
  t.is(status, 200);
  t.like(body, { total: 1_000, valid: 999, invalid: 1 });
  const results = body.results as Record<string, { valid: boolean }>;
  t.deepEqual(Object.keys(results), ids);
  t.false(results[ids[777] ?? '']?.valid);
  t.is((await verifyBatch(api, [...ids, randomUUID()])).status, 400);
});

test('a malformed list of ids is refused', async (t) => {
  const api = await createApi(t.context.vault);
  const id = randomUUID();
  for (const ids of [undefined, null, [], id, { 0: id }, [7], [null], ['7'], [id, `${id}0`]]) {
    const { status, body } = await verifyBatch(api, ids);
    t.is(status, 400, JSON.stringify(ids));
    t.is(body.code, 'validation_failed');
  }
  const json = { ids: [id], more: true };
  t.is((await api.send('POST', '/v1/audit/proof/verify-batch', { json })).status, 400);
});
