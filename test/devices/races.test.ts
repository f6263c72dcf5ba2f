import { randomBytes } from 'node:crypto';
import test from 'ava';
import { beginLogin, inventAccount } from '../support/accounts/test-account.ts';
import { createRecoverable, recoveryFields } from '../support/accounts/recovery-account.ts';
import { postJson, send } from '../support/http/send.ts';
import { createSql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  logInAgain,
  reauthHeader,
} from '../support/accounts/owner.ts';

test('concurrent changes of devices and keys cause no server error', async (t) => {
  const vault = sharedVault();
  const owner = await createRecoverable(vault);
  const { account, userId, token } = owner;
  // The session's own device stays, since its revocation would end the session too early.
  const own = await createDevice(vault, token);
  const others = await Promise.all(Array.from({ length: 7 }, () => createDevice(vault, token)));
  const [revoked, kept] = [others.slice(0, 4), [own, ...others.slice(4)]];
  const devices = [...revoked, ...kept];
  const other = await logInAgain(vault, account);
  const headers = await reauthHeader(vault, owner);
  const { saltHex: salt, verifierHex: verifier } = inventAccount();
  const rekey = () => ({
    salt,
    verifier,
    masterEnvelope: anyEnvelope(),
    recovery: { encryptedEnvelope: anyEnvelope(), ...recoveryFields(inventAccount()) },
    devices: kept.map((id) => ({ deviceId: id, encryptedEnvelope: anyEnvelope() })),
    keyring: randomBytes(60).toString('base64'),
  });
  const put = (path: string, json: object, more = {}) =>
    send('PUT', `${vault.baseUrl}${path}`, { token, json, headers: { ...headers, ...more } });
  const proofs = await Promise.all(
    devices.map(async (deviceId) => {
      const { sessionId, A, M1 } = await beginLogin(vault, account);
      return { sessionId, A, M1, deviceId };
    }),
  );
  const answers = await Promise.all([
    ...revoked.map((id) => ask(vault, other.token, 'DELETE', `/devices/${id}`)),
    ...devices.map((id) => ask(vault, token, 'GET', `/device-envelope/${id}`)),
    ...proofs.map((proof) => postJson(`${vault.baseUrl}/v1/auth/login/verify`, proof)),
    ...Array.from({ length: 4 }, () => put('/v1/auth/credentials', rekey())),
    ...['"1"', '"2"'].map((version) =>
      put(
        '/v1/crypto/keys/master-envelope',
        { encryptedEnvelope: anyEnvelope() },
        { 'If-Match': version },
      ),
    ),
    ...[token, other.token].map((by) => createDevice(vault, by).then(created, refused)),
    send('DELETE', `${vault.baseUrl}/v1/auth/account`, { token, headers }),
  ]);
  t.deepEqual(
    answers.filter(({ status }) => status >= 500),
    [],
  );
  t.is(answers.at(-1)?.status, 204);
  const left = await createSql(vault)('select 1 from key_envelopes where user_id = $1', [userId]);
  t.deepEqual(left, []);
});

const created = () => ({ status: 201 });
const refused = (error: Error) => ({ status: Number(/ (\d{3}): /.exec(error.message)?.[1]) });
