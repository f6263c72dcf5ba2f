import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { appendEntries, openTrail } from '../support/audit/entries.ts';
import { assertError } from '../support/http/error-body.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { readRecord, startKeysVault, startOwnKeysVault, type KeysVault } from './keys-vault.ts';
import { makePending, putInDlq } from '../support/audit/unsealed.ts';

let keys: KeysVault;

test.before(async () => {
  keys = await startKeysVault();
});
test.after.always(() => keys.stop());

/** Inserts a key that the token does not hold, with a signed record. */
async function insertForeignKey({ sql }: KeysVault): Promise<string> {
  const keyId = randomBytes(16).toString('hex');
  await sql(
    `insert into signing_keys (key_id, purpose, algorithm, public_key, generation, record_id)
     select $1, 'audit', algorithm, public_key, 1000, record_id
     from signing_keys where purpose = 'audit' and state = 'ACTIVE'`,
    [keyId],
  );
  return keyId;
}

for (const purpose of ['audit', 'token'] as const) {
  test.serial(`${purpose}: activation replaces the previous key and records both`, async (t) => {
    const first = await keys.activeKey(purpose);
    const made = await keys.create(purpose);
    t.like(made, {
      purpose,
      state: 'CREATED',
      generation: first.generation + 1,
      activatedAt: null,
      retiredAt: null,
    });
    t.like(readRecord(made.record), {
      actor: { type: 'system', id: 'keys' },
      resource: { owner: '00000000-0000-0000-0000-000000000000' },
      data: { requestedBy: 'test-admin', state: 'CREATED' },
    });
    t.is((await keys.activeKey(purpose)).keyId, first.keyId);

    const active = await keys.activate(made.keyId);
    t.like(active, { keyId: made.keyId, state: 'ACTIVE', retiredAt: null });
    const retired = (await keys.list()).find(({ keyId }) => keyId === first.keyId);
    t.like(retired, { state: 'RETIRED', activatedAt: first.activatedAt });
    t.is(retired?.retiredAt, active.activatedAt);

    const at = active.activatedAt;
    const told = async (resource: string, action: string) =>
      (await entriesOf(keys.sql, { resource })).filter((entry) => entry.action === action);
    const by = { requestedBy: 'test-admin', purpose, at };
    const [activation, ...others] = await told(made.keyId, 'key.activated');
    t.deepEqual(others, []);
    t.deepEqual(activation?.data, { ...by, predecessor: first.keyId });
    const [retirement] = await told(first.keyId, 'key.retired');
    t.deepEqual(retirement?.data, { ...by, successor: made.keyId });
  });
}

test.serial('a repeated activation changes nothing', async (t) => {
  const { keyId } = await keys.create('token');
  const active = await keys.activate(keyId);
  t.deepEqual(await keys.activate(keyId), active);
  t.is((await entriesOf(keys.sql, { resource: keyId })).length, 2);
});

test.serial('concurrent activations run in sequence and leave one active key', async (t) => {
  const made = [await keys.create('audit'), await keys.create('audit'), await keys.create('audit')];
  const answers = await Promise.all(
    made.flatMap(({ keyId }) => [1, 2].map(() => keys.send('POST', `/${keyId}/activate`))),
  );
  for (const answer of answers) {
    if (answer.status !== 200) assertError(t, answer, { status: 409, code: 'key_retired' });
  }
  const { keyId } = await keys.activeKey('audit');
  t.true(made.some((key) => key.keyId === keyId));
  const generations = (await keys.list()).filter(({ purpose }) => purpose === 'audit');
  const activated = generations
    .filter(({ activatedAt }) => activatedAt !== null)
    .toSorted((a, b) => String(a.activatedAt).localeCompare(String(b.activatedAt)));
  for (const [index, { retiredAt }] of activated.entries()) {
    t.is(retiredAt, activated[index + 1]?.activatedAt ?? null);
  }
});

test.serial('a key that was never activated is retired for good', async (t) => {
  const { keyId } = await keys.create('audit');
  for (let round = 0; round < 2; round += 1) {
    const { status, body } = await keys.send('POST', `/${keyId}/retire`);
    t.is(status, 200);
    t.like(body, { keyId, state: 'RETIRED', activatedAt: null });
  }
  const entries = await entriesOf(keys.sql, { resource: keyId });
  t.deepEqual(
    entries.map(({ action, data }) => [action, data['successor']]),
    [
      ['key.created', undefined],
      ['key.retired', null],
    ],
  );
  assertError(t, await keys.send('POST', `/${keyId}/activate`), {
    status: 409,
    code: 'key_retired',
  });
});

test.serial('a key whose record is not signed cannot be activated', async (t) => {
  const { keyId } = await keys.create('audit');
  const [key] = await keys.sql('select record_id from signing_keys where key_id = $1', [keyId]);
  const recordId = key?.['record_id'];
  await putInDlq(keys.sql, [recordId]);
  const answer = await keys.send('POST', `/${keyId}/activate`);
  assertError(t, answer, { status: 409, code: 'key_not_published' });
  t.is(answer.headers.get('retry-after'), '1');
  await makePending(keys.sql, [recordId]);
  await keys.sql('update audit_queue set claim_id = null, claimed_until = null');
  await until(async () => (await keys.send('POST', `/${keyId}/activate`)).status === 200, {
    what: 'the activation',
    timeoutMs: 60_000,
  });
});

test.serial('the active key cannot be retired', async (t) => {
  for (const purpose of ['audit', 'token'] as const) {
    const { keyId } = await keys.activeKey(purpose);
    assertError(t, await keys.send('POST', `/${keyId}/retire`), {
      status: 409,
      code: 'key_in_use',
    });
    t.is((await keys.activeKey(purpose)).keyId, keyId);
  }
});

test.serial('unknown keys and bad input are refused', async (t) => {
  const before = await keys.list();
  const unknown = randomBytes(16).toString('hex');
  for (const verb of ['activate', 'retire']) {
    const missing = { status: 404, code: 'not_found' };
    assertError(t, await keys.send('POST', `/${unknown}/${verb}`), missing);
    for (const id of ['7', unknown.toUpperCase(), `${unknown}0`, randomUUID()]) {
      const bad = { status: 400, code: 'validation_failed' };
      assertError(t, await keys.send('POST', `/${id}/${verb}`), bad, id);
    }
  }
  for (const body of [{}, { purpose: 'mac' }, { purpose: 'audit', bits: 1 }, [], 'audit', null]) {
    const answer = await keys.send('POST', '', body);
    t.is(answer.status, 400, JSON.stringify(body));
  }
  t.deepEqual(await keys.list(), before);
});

test.serial('the routes of keys need an internal API key', async (t) => {
  const { keyId } = await keys.activeKey('audit');
  for (const [method, path] of [
    ['GET', ''],
    ['POST', ''],
    ['POST', `/${keyId}/activate`],
    ['POST', `/${keyId}/retire`],
  ] as const) {
    const response = await fetch(`${keys.vault.baseUrl}/v1/internal/keys${path}`, { method });
    t.is(response.status, 401, path);
  }
  const { status, body } = await keys.send('GET', '');
  t.is(status, 200);
  t.deepEqual(body, { keys: await keys.list() });
});

test.serial('a key that the token does not hold cannot be activated', async (t) => {
  const keyId = await insertForeignKey(keys);
  assertError(t, await keys.send('POST', `/${keyId}/activate`), {
    status: 409,
    code: 'key_not_in_token',
  });
});

test('a key can be activated once it has been published for long enough', async (t) => {
  const own = await startOwnKeysVault(t, { KEYS_PUBLISH_SECONDS: '1000' });
  const { keyId } = await own.create('token');
  const activate = () => own.send('POST', `/${keyId}/activate`);
  const early = { status: 409, code: 'key_not_published' };
  const answer = await activate();
  assertError(t, answer, early);
  const seconds = Number(answer.headers.get('retry-after'));
  t.true(seconds > 900 && seconds <= 1000, String(seconds));

  const register = (interval: string) =>
    own.sql(
      'update signing_keys set registered_at = clock_timestamp() - $2::interval where key_id = $1',
      [keyId, interval],
    );
  await register('980 seconds');
  const later = await activate();
  assertError(t, later, early);
  t.true(Number(later.headers.get('retry-after')) <= 20);
  await register('1001 seconds');
  t.is((await activate()).status, 200);
});

test('keys cannot be rotated while the signer is down or the backlog full', async (t) => {
  const own = await startOwnKeysVault(t, { AUDIT_BACKLOG_LIMIT: '20' });
  const { keyId } = await own.create('audit');
  const exchanges = () =>
    Promise.all([
      own.send('POST', '', { purpose: 'audit' }),
      own.send('POST', `/${keyId}/activate`),
      own.send('POST', `/${keyId}/retire`),
    ]);
  await own.signer.stop();
  const [create, activate] = await exchanges();
  for (const answer of [create, activate]) {
    assertError(t, answer ?? t.fail(), { status: 503, code: 'signer_unavailable' });
  }

  const open = await openTrail(own.vault);
  t.teardown(() => open.close());
  await appendEntries(open, 21);
  const isFull = (text: string) => text.includes('audit_backlog_full');
  await until(async () => (await exchanges()).every(({ text }) => isFull(text)), {
    what: 'the refusals',
    timeoutMs: 60_000,
  });
  for (const answer of await exchanges()) {
    assertError(t, answer, { status: 503, code: 'audit_backlog_full' });
  }
  t.is((await own.list()).length, 3);
});
