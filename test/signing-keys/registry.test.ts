import { createHash, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { Client } from 'pg';
import { createAuditTrail } from '../../app/audit-trail/audit-trail.ts';
import { openDatabase } from '../../app/db/database.ts';
import { createDatabase, databaseUrls, dropDatabase } from '../../app/dev/postgres/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createKeyRegistry } from '../../app/signing-keys/registry.ts';
import { verifyProof } from '../../client/proofs/verify-proof.ts';
import { askOpenssl } from '../support/audit/openssl.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { getJson } from '../support/http/send.ts';
import { testStack, testIssuer } from '../support/vault/stack.ts';
import {
  createOwnToken,
  readRecord,
  startKeysVault,
  startOwnKeysVault,
  type KeysVault,
  type ListedKey,
} from './keys-vault.ts';

let keys: KeysVault;

test.before(async () => {
  keys = await startKeysVault();
});
test.after.always(() => keys.stop());

/** Waits until the record of every key is signed. */
function untilRecorded({ list }: Pick<KeysVault, 'list'>): Promise<ListedKey[]> {
  return until(
    async () => {
      const listed = await list();
      return listed.length > 0 && listed.every(({ record }) => record !== null) && listed;
    },
    { what: 'the records of the keys', timeoutMs: 60_000 },
  );
}

test('the registry lists every key with its fingerprint', async (t) => {
  const listed = await keys.list();
  t.deepEqual([...new Set(listed.map(({ purpose }) => purpose))].sort(), ['audit', 'token']);
  for (const { keyId, publicKey, fingerprint, ...key } of listed) {
    const der = Buffer.from(publicKey, 'base64');
    t.is(fingerprint, createHash('sha256').update(der).digest('hex'));
    t.is(keyId, fingerprint.slice(0, 32));
    t.deepEqual(Object.keys(key).sort(), [
      'activatedAt',
      'algorithm',
      'compromise',
      'compromisedSince',
      'generation',
      'imported',
      'purpose',
      'record',
      'registeredAt',
      'retiredAt',
      'state',
      'vouchedBy',
    ]);
  }
  const { headers } = await getJson(`${keys.vault.baseUrl}/v1/audit/keys`);
  t.is(headers.get('cache-control'), 'public, max-age=30');
});

test('OpenSSL verifies a key’s record, which names the key', async (t) => {
  for (const key of await untilRecorded(keys)) {
    const { record } = key;
    if (record === null) throw new Error('every key should have a record');
    t.is(await askOpenssl(record), 'Verified OK');
    const { action, resource, data } = readRecord(record);
    t.is(action, 'key.created');
    t.like(resource, { type: 'key', id: key.keyId });
    const { purpose, publicKey, fingerprint, generation, algorithm, imported } = key;
    t.like(data, { purpose, publicKey, fingerprint, generation, algorithm, imported });
  }
});

test('a first key vouches for itself and for its successor', async (t) => {
  const own = await startOwnKeysVault(t);
  const first = await own.activeKey('audit');
  const recorded = (await untilRecorded(own)).find(({ keyId }) => keyId === first.keyId);
  t.is(recorded?.record?.hsmKeyId, first.keyId);
  t.is(recorded?.vouchedBy, null);
  const second = await own.create('audit');
  t.is(second.record?.hsmKeyId, first.keyId);
  t.is(second.vouchedBy, first.keyId);
  t.is(second.record?.publicKey, first.publicKey);
  await own.activate(second.keyId);
  const third = await own.create('token');
  t.is(third.record?.hsmKeyId, second.keyId);
  const trustedKeys = [first.fingerprint, second.fingerprint];
  for (const { record } of await own.list()) t.true(verifyProof(record, { trustedKeys }).valid);
});

test('the app logs the fingerprints of the signing keys', async (t) => {
  const lines = keys.vault.logLines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const logged = lines
    .filter(({ msg }) => msg === 'active signing keys')
    .map((line) => line['keys']);
  const active = [await keys.activeKey('audit'), await keys.activeKey('token')].map(
    ({ purpose, keyId, fingerprint }) => ({ purpose, keyId, fingerprint }),
  );
  t.deepEqual(logged, [active]);
});

test('the newer of two generations on a token becomes active, the older never does', async (t) => {
  const token = await createOwnToken();
  await token.signer.client.createKey('audit');
  await token.signer.client.createKey('token');
  const own = await startOwnKeysVault(t, {}, token);
  const listed = await untilRecorded(own);
  const states = listed.map(({ purpose, generation, state, activatedAt, retiredAt }) => ({
    key: `${purpose}-${generation}`,
    state,
    wasActive: activatedAt !== null,
    isRetired: retiredAt !== null,
  }));
  const older = { state: 'RETIRED', wasActive: false, isRetired: true };
  const newer = { state: 'ACTIVE', wasActive: true, isRetired: false };
  t.deepEqual(states, [
    { key: 'audit-1', ...older },
    { key: 'token-1', ...older },
    { key: 'audit-2', ...newer },
    { key: 'token-2', ...newer },
  ]);
  const newest = await own.activeKey('audit');
  t.deepEqual([...new Set(listed.map(({ record }) => record?.hsmKeyId))], [newest.keyId]);
  const { keys: set } = (await getJson(`${own.vault.baseUrl}/.well-known/jwks.json`)).body as {
    keys: { readonly kid: string }[];
  };
  t.deepEqual(
    set.map(({ kid }) => kid),
    [(await own.activeKey('token')).keyId],
  );
});

test('a second key of the same number is ignored and blocks no registered key', async (t) => {
  const own = await startOwnKeysVault(t);
  const { keyId } = await own.create('audit');
  await own.fixture.operate('make', 'audit', '2');
  await own.fixture.operate('make', 'audit', '3');
  await own.activate(keyId);
  t.is((await own.activeKey('audit')).keyId, keyId);
  await own.create('token');
  const audit = (await own.list()).filter(({ purpose }) => purpose === 'audit');
  t.deepEqual(
    audit.map(({ generation, state }) => [generation, state]),
    [
      [1, 'RETIRED'],
      [2, 'ACTIVE'],
      [3, 'CREATED'],
    ],
  );
});

test('concurrent processes register each new key once, with one audit entry', async (t) => {
  const token = await createOwnToken();
  t.teardown(() => token.remove());
  const { client } = token.signer;
  const db = await openOwnDatabase(t);
  const registries = Array.from({ length: 8 }, () => createRegistry(db, client));
  await Promise.all(registries.map((registry) => registry.sync()));
  await client.createKey('audit');
  await client.createKey('token');
  await Promise.all(registries.map((registry) => registry.sync()));

  const { rows, entries } = await db.asService(async (tx) => ({
    rows: await tx.selectFrom('signing_keys').selectAll().execute(),
    entries: await tx.selectFrom('audit_entries').select(['id', 'resource_id']).execute(),
  }));
  t.is(rows.length, 4);
  t.deepEqual(
    rows.map(({ key_id, record_id }) => `${key_id} ${record_id}`).sort(),
    entries.map(({ id, resource_id }) => `${resource_id} ${id}`).sort(),
  );
});

test('keys of another token are refused and not registered', async (t) => {
  const other = await createOwnToken();
  t.teardown(() => other.remove());
  const db = await openOwnDatabase(t);
  await createRegistry(db, keys.signer.client).sync();
  const registry = createRegistry(db, other.signer.client);
  await t.throwsAsync(registry.sync(), { message: /^the token holds another key (audit|token)-1/ });
  const known = new Set((await keys.signer.client.listKeys()).map(({ keyId }) => keyId));
  t.true((await registry.list()).every(({ keyId }) => known.has(keyId)));
});

test('a process whose clock is set back still learns of a key rotation', async (t) => {
  const db = await openOwnDatabase(t);
  let now = Date.now();
  const registry = createRegistry(db, keys.signer.client, () => new Date(now));
  await registry.sync();
  now -= 3_600_000;
  await db.asService((tx) =>
    tx
      .updateTable('signing_keys')
      .set({ state: 'RETIRED', retired_at: new Date() })
      .where('state', '=', 'ACTIVE')
      .execute(),
  );
  t.true((await registry.list()).every(({ state }) => state === 'RETIRED'));
});

test('a database connection that stalls is replaced by another', async (t) => {
  const { db, proxy } = await openProxiedDatabase(t);
  let now = Date.now();
  const registry = createRegistry(db, keys.signer.client, () => new Date(now));
  await registry.sync();
  const known = await registry.list();
  proxy.stall();
  now += 10_000;
  const askedAt = performance.now();
  t.is(await registry.find('0'.repeat(32)), undefined);
  t.deepEqual(await registry.list(), known);
  t.true(performance.now() - askedAt < 10_000);
});

test('while the registry is locked, known keys are served and unknown ones wait', async (t) => {
  const { db, ownerUrl } = await openProxiedDatabase(t);
  let now = Date.now();
  const registry = createRegistry(db, keys.signer.client, () => new Date(now));
  await registry.sync();
  const known = await registry.list();
  const blocker = new Client({ connectionString: ownerUrl });
  await blocker.connect();
  t.teardown(() => blocker.end());
  await blocker.query('begin; lock table signing_keys in access exclusive mode');
  now += 10_000;
  const stranger = registry.find('0'.repeat(32));
  const askedAt = performance.now();
  t.deepEqual(await registry.list(), known);
  t.is((await registry.active('token')).purpose, 'token');
  t.true(performance.now() - askedAt < 10_000);
  await blocker.query('rollback');
  t.is(await stranger, undefined);
});

async function openProxiedDatabase(t: ExecutionContext) {
  const { proxy, ownerUrl, settings, ...database } = await startProxiedDatabase();
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 10 });
  t.teardown(async () => {
    await proxy.close();
    await db.close();
    await database[Symbol.asyncDispose]();
  });
  return { db, proxy, ownerUrl };
}

async function openOwnDatabase(t: ExecutionContext) {
  const { postgres, templateDatabase } = testStack();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name, templateDatabase);
  const { app: url, service: serviceUrl } = databaseUrls(postgres, name);
  const db = await openDatabase({ url, serviceUrl, poolSize: 10 });
  t.teardown(async () => {
    await db.close();
    await dropDatabase(postgres, name);
  });
  return db;
}

/** Creates a registry as a separate process would. */
function createRegistry(
  db: Awaited<ReturnType<typeof openDatabase>>,
  signer: Parameters<typeof createKeyRegistry>[0]['signer'],
  clock = () => new Date(),
) {
  const audit = createAuditTrail({
    issuer: testIssuer,
    assertClock: () => undefined,
    clock,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  return createKeyRegistry({ db, signer, audit, clock });
}
