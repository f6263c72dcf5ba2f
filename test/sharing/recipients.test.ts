import anyTest, { type TestFn } from 'ava';
import { fingerprintOf } from '../../app/identities/public-identity.ts';
import { createApi } from '../support/documents/uploads.ts';
import { createSql } from '../support/vault/sql.ts';
import { storeDocument } from '../support/documents/documents.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import {
  askKey,
  createPerson,
  createRecipient,
  share,
  strangersAddress,
} from '../support/documents/people.ts';
import { newSharingKey, putKey } from '../support/documents/sharing-keys.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault();
});
test.after.always((t) => t.context.vault.stop());

test('a recipient’s public keys are returned with their fingerprint', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { email, publicKey, signingKey } = await createRecipient(t, vault);
  const fingerprint = fingerprintOf({ publicKey, signingKey });
  for (const spelling of [email, ` ${email.toUpperCase()} `]) {
    const { status, headers, body } = await askKey(api, spelling);
    t.is(status, 200);
    t.like(body, { publicKey, signingKey, fingerprint });
    t.is(headers.get('cache-control'), 'no-store');
  }
  const { headers } = await api.send('POST', '/api/v1/documents/share-key', {
    json: { recipientEmail: email },
  });
  t.is(headers.get('content-type'), 'application/json; charset=utf-8');
});

test('an unknown e-mail address gets a stable response of the same shape', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { email } = await createRecipient(t, vault);
  const stranger = strangersAddress();
  const [known, unknown, again] = [
    await askKey(api, email),
    await askKey(api, stranger),
    await askKey(api, stranger),
  ];
  t.deepEqual(unknown.body, again.body);
  const shapeOf = ({ status, headers, body }: typeof known) => ({
    status,
    headers: [...headers.keys()],
    fields: Object.entries(body).map(([name, value]) => [name, String(value).length]),
  });
  t.deepEqual(shapeOf(unknown), shapeOf(known));
  for (const { body } of [known, unknown]) {
    t.regex(String(body.recipientId), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
  }
});

test('all sharers see one key for an e-mail address, but different recipient ids', async (t) => {
  const { vault } = t.context;
  const [one, other] = [await createPerson(vault), await createPerson(vault)];
  const { email } = await createRecipient(t, vault);
  for (const recipientEmail of [email, strangersAddress()]) {
    const [first, second] = [
      await askKey(one.api, recipientEmail),
      await askKey(other.api, recipientEmail),
    ];
    t.is(first.body.publicKey, second.body.publicKey);
    t.not(first.body.recipientId, second.body.recipientId);
  }
});

test('a user of two tenants shares in each of them, with separate keys', async (t) => {
  const { vault } = t.context;
  const { api: one, userId } = await createPerson(vault);
  const other = await createApi(vault, { userId, tenantId: 'elsewhere' });
  const email = strangersAddress();
  for (const api of [one, other]) {
    const { id } = await storeDocument(t, api);
    t.is((await askKey(api, email)).status, 200);
    t.is((await share(api, id, { recipientEmail: email })).status, 201);
    const key = newSharingKey();
    t.is((await putKey(api, key)).status, 200);
    t.like((await api.send('GET', '/v1/crypto/keys/sharing')).body, { ...key, version: 1 });
  }
});

test('a user without key, active account or this tenant looks unknown', async (t) => {
  const { vault } = t.context;
  const sql = createSql(vault);
  const { api } = await createPerson(vault);
  const elsewhere = await createRecipient(t, vault, { tenantId: 'elsewhere' });
  const pending = await createRecipient(t, vault);
  await sql(`update accounts set status = 'PENDING_VALIDATION' where id = $1`, [pending.userId]);
  const people = [elsewhere, pending, { ...(await createPerson(vault)), publicKey: '' }];
  for (const { userId, email, publicKey } of people) {
    const { status, body } = await askKey(api, email);
    t.is(status, 200);
    t.not(body.publicKey, publicKey);
    const [row] = await sql('select * from share_recipients where recipient_ref = $1', [
      body.recipientId,
    ]);
    t.is(row?.['recipient_user_id'], null);
    await sql('delete from sharing_keys where user_id = $1', [userId]);
    await sql('delete from accounts where id = $1', [userId]);
    t.deepEqual(
      (await askKey(api, email)).body,
      body,
      'the response is the same without an account',
    );
  }
});

test('a decoy gives way to the real key once there is one', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { email, userId, publicKey } = await createRecipient(t, vault);
  const sql = createSql(vault);
  await sql('update sharing_keys set tenant_id = $2 where user_id = $1', [userId, 'elsewhere']);
  const decoy = await askKey(api, email);
  t.not(decoy.body.publicKey, publicKey);
  await sql('update sharing_keys set tenant_id = $2 where user_id = $1', [userId, 'default']);
  const real = await askKey(api, email);
  t.is(real.body.publicKey, publicKey);
  t.is(real.body.recipientId, decoy.body.recipientId);
});

test('one’s own e-mail address is refused, with or without a sharing key', async (t) => {
  const { vault } = t.context;
  for (const person of [await createPerson(vault), await createRecipient(t, vault)]) {
    const { status, body } = await askKey(person.api, person.email);
    t.is(status, 400);
    t.is(body.code, 'validation_failed');
    const { id } = await storeDocument(t, person.api);
    const shared = await share(person.api, id, { recipientEmail: person.email });
    t.is(shared.body.code, 'validation_failed');
  }
});

test('a malformed e-mail address is refused', async (t) => {
  const { api } = await createPerson(t.context.vault);
  for (const email of ['', 'nobody', 'a@b@c.org', `${'a'.repeat(250)}@example.org`]) {
    t.is((await askKey(api, email)).body.code, 'validation_failed', email);
  }
});

test('look-ups by e-mail address have an hourly limit; those by id have none', async (t) => {
  const vault = await startReadyVault({ LIMITS_SHARE_KEY_USER: '3/1h' });
  t.teardown(() => vault.stop());
  const { api } = await createPerson(vault);
  const { email } = await createRecipient(t, vault);
  const { id } = await storeDocument(t, api);
  const { recipientId } = (await askKey(api, email)).body;
  t.is((await askKey(api, strangersAddress())).status, 200);
  t.is((await share(api, id, { recipientEmail: strangersAddress() })).status, 201);

  const refused = await askKey(api, email);
  t.is(refused.body.code, 'rate_limited');
  t.regex(refused.headers.get('retry-after') ?? '', /^\d+$/);
  t.is((await askKey(api, strangersAddress())).body.code, 'rate_limited');
  const byEmail = await share(api, id, { recipientEmail: email });
  t.is(byEmail.body.code, 'rate_limited');
  t.is((await share(api, id, { recipientId })).status, 201);
  t.is((await askKey((await createPerson(vault)).api, email)).status, 200);
});
