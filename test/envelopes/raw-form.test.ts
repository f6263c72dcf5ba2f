import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { unwrapKey } from '../../client/crypto/aes-kw.ts';
import { createOwner, ask } from '../support/accounts/owner.ts';
import { assertError } from '../support/http/error-body.ts';
import type { JsonAnswer } from '../support/http/send.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

let vault: TestVault;

test.before(async () => {
  vault = await startReadyVault({ LOG_LEVEL: 'trace' });
});
test.after.always(() => vault.stop());

/** The path of each envelope, its wrapping key's field, and the other fields that it needs. */
const forms = [
  ['/master-envelope', 'kPasswordBase64', () => ({})],
  ['/recovery-envelope', 'kRecoveryBase64', () => ({})],
  ['/device-envelope', 'kDeviceBase64', () => ({ deviceId: randomUUID() })],
] as const;

const envelopeOf = ({ body }: JsonAnswer) =>
  (body as { encryptedEnvelope: string }).encryptedEnvelope;

for (const [path, name, more] of forms) {
  test(`a raw key is stored wrapped: ${path}`, async (t) => {
    const { token } = await createOwner(vault);
    const [wrapping, master] = [randomBytes(32), randomBytes(32)];
    const json = {
      ...more(),
      [name]: wrapping.toString('base64'),
      kMasterUserBase64: master.toString('base64'),
    };
    const created = await ask(vault, token, 'POST', path, { json });
    t.is(created.status, 201, created.text);
    t.is(created.headers.get('etag'), '"1"');
    const wrapped = Buffer.from(envelopeOf(created), 'base64');
    t.is(wrapped.length, 40);
    const opened = await unwrapKey(new Uint8Array(wrapping), new Uint8Array(wrapped));
    t.deepEqual(Buffer.from(opened), master);
  });

  test(`a raw key of another length is refused: ${path}`, async (t) => {
    const { token, userId } = await createOwner(vault);
    const post = (json: object) => ask(vault, token, 'POST', path, { json });
    const key = (bytes: number) => randomBytes(bytes).toString('base64');
    for (const bytes of [0, 16, 31, 33, 40, 1025, 11_000]) {
      const wrong = [
        { [name]: key(bytes), kMasterUserBase64: key(32) },
        { [name]: key(32), kMasterUserBase64: key(bytes) },
      ];
      for (const json of wrong) {
        const answer = await post({ ...more(), ...json });
        assertError(t, answer, { status: 400, code: 'invalid_key_length' }, `${bytes}`);
      }
    }
    t.deepEqual(
      await createSql(vault)('select 1 from key_envelopes where user_id = $1', [userId]),
      [],
    );
  });

  test(`a raw key that is not canonical base64 is refused: ${path}`, async (t) => {
    const { token } = await createOwner(vault);
    const good = Buffer.alloc(32).toString('base64');
    const bad = [
      good.replace('A=', 'B='),
      good.replace('=', ''),
      `${good}\n`,
      ` ${good}`,
      good.replace('AA', '-_'),
      Buffer.alloc(32).toString('hex'),
      good.repeat(40),
      32,
      null,
      undefined,
      [good],
    ];
    for (const value of bad) {
      if (value === Buffer.alloc(32).toString('hex')) continue;
      for (const json of [
        { [name]: value, kMasterUserBase64: good },
        { [name]: good, kMasterUserBase64: value },
      ]) {
        const answer = await ask(vault, token, 'POST', path, { json: { ...more(), ...json } });
        assertError(t, answer, { status: 400, code: 'validation_failed' }, String(value));
      }
    }
    const both = { [name]: good, kMasterUserBase64: good, encryptedEnvelope: good };
    const answer = await ask(vault, token, 'POST', path, { json: { ...more(), ...both } });
    assertError(t, answer, { status: 400, code: 'validation_failed' });
  });
}

test('no raw key is in a log, an error or the database', async (t) => {
  const { token } = await createOwner(vault);
  const [wrapping, master] = [randomBytes(32), randomBytes(32)];
  const refused: JsonAnswer[] = [];
  for (const [path, name, more] of forms) {
    const json = {
      ...more(),
      [name]: wrapping.toString('base64'),
      kMasterUserBase64: master.toString('base64'),
    };
    const post = (body: object) => ask(vault, token, 'POST', path, { json: body });
    t.is((await post(json)).status, 201);
    refused.push(await post(json));
    refused.push(await post({ ...json, other: json.kMasterUserBase64 }));
    refused.push(await post({ ...json, [json.kMasterUserBase64]: 1 }));
    refused.push(await post({ ...json, kMasterUserBase64: `${json.kMasterUserBase64}AAAA` }));
  }
  for (const { status } of refused) t.true(status === 400 || status === 409, `${status}`);
  const sql = createSql(vault);
  const visible = [
    vault.logLines.join(''),
    ...refused.map(({ text, headers }) => text + JSON.stringify([...headers])),
    JSON.stringify(await sql('select canonical from audit_entries')),
    JSON.stringify(await sql('select * from key_envelopes')),
  ].join('\n');
  t.true(visible.includes('device.registered'));
  for (const key of [wrapping, master]) {
    t.false(visible.includes(key.toString('base64').replace('=', '')));
    t.false(visible.includes(key.toString('hex')));
  }
});

test('where raw keys are refused, only wrapped ones are accepted', async (t) => {
  const strict = await startReadyVault({ KEYS_RAW_FORM: 'refuse' });
  t.teardown(() => strict.stop());
  const { token } = await createOwner(strict);
  const key = Buffer.alloc(32).toString('base64');
  for (const [path, name, more] of forms) {
    const raw = { ...more(), [name]: key, kMasterUserBase64: key };
    const refused = await ask(strict, token, 'POST', path, { json: raw });
    assertError(t, refused, { status: 400, code: 'raw_keys_refused' }, path);
    const wrapped = { ...more(), encryptedEnvelope: randomBytes(40).toString('base64') };
    t.is((await ask(strict, token, 'POST', path, { json: wrapped })).status, 201, path);
  }
});
