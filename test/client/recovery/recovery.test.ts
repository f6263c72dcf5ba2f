import { randomBytes } from '@noble/hashes/utils.js';
import anyTest from 'ava';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import { downloadDocument } from '../../../client/downloads/download.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { createDeviceKey } from '../../../client/keys/device-key.ts';
import { RecoveryWordsError } from '../../../client/recovery/recovery-words-error.ts';
import { createRecoveryWords } from '../../../client/recovery/recovery-words.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { createBreakingLine } from '../../support/client/breaking-fetch.ts';
import { collect } from '../../support/client/collect.ts';
import { spellingsOfKey, spellingsOfWords } from '../../support/client/secret-encodings.ts';
import { storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';

// The tests are serial: they share users, since deriving keys from passwords takes most of the
// time.
const test = anyTest.serial;

const vault = await startReadyVault({ LIMITS_PROOF_ACCOUNT: '3/15m' });
const sql = createSql(vault);
const line = createBreakingLine();
const impatient = { ...defaultRetry, attempts: 1 };
const client = connect(vault, line.fetch, { retry: impatient });
const patient = connect(vault, line.fetch, { retry: { ...defaultRetry, baseDelaySeconds: 0.01 } });

async function setWords(session: VaultSession, password: string): Promise<string> {
  const draft = session.recovery.draft();
  secrets.push(draft.words, ...spellingsOfWords(draft.words), password);
  await draft.confirm({ words: draft.words, password });
  return draft.words;
}

/** A user whose account no test recovers. */
const steady = await createUser(vault, client);
/** Texts that no request may contain. */
const secrets = spellingsOfKey(steady.masterKey);
anyTest.after.always(() => vault.stop());
anyTest.beforeEach(() => line.mend());

const invalidProof = { code: 'invalid_proof' };

test('a user without the password recovers by the words and reads documents', async (t) => {
  const user = await createUser(vault, client);
  const { session, credentials, masterKey } = user;
  const { email, password } = credentials;
  const { document, bytes } = await storeBytes(user, 200);
  await session.certifyDocument(document.id);
  const device = createDeviceKey();
  await session.devices.add({ ...device, name: 'Laptop', platform: 'Firefox' });
  const words = await setWords(session, password);
  t.true(await session.recovery.check(words));

  const typed = `\u00a0${words.toUpperCase().replaceAll(' ', ' \t\n')}  `;
  const { deviceId } = device;
  const recovered = await client.recover({ email, words: typed, newPassword: 'new', deviceId });
  t.deepEqual(await recovered.envelopes.openMasterKey(), masterKey);
  const { masterKey: ofDevice } = await recovered.envelopes.openMasterKeysWithDevice(device);
  t.deepEqual(ofDevice, masterKey);
  const { id } = document;
  const read = await collect(downloadDocument(toolsOf(recovered), { id, masterKey }));
  t.deepEqual(read, new Uint8Array(bytes));
  for await (const { isCurrent } of recovered.devices.list()) t.true(isCurrent);
  await t.throwsAsync(client.login(credentials), invalidProof);
  t.true(await recovered.recovery.check(words), 'the recovery words stay valid');
});

test('a recovery may set a new master key and new recovery words at once', async (t) => {
  const user = await createUser(vault, client);
  const { session, credentials, masterKey } = user;
  const { email, password } = credentials;
  const { document, bytes } = await storeBytes(user, 20);
  const words = await setWords(session, password);
  let shown = '';
  const recovered = await client.recover({
    email,
    words,
    newPassword: 'new',
    rehearse: async (draft) => {
      shown = draft.words;
      return shown;
    },
  });
  const keys = await recovered.envelopes.openMasterKeys();
  t.deepEqual(keys.earlierKeys, [masterKey]);
  const { id } = document;
  const read = await collect(downloadDocument(toolsOf(recovered), { id, ...keys }));
  t.deepEqual(read, new Uint8Array(bytes));
  t.false(await recovered.recovery.check(words));
  const again = await client.recover({ email, words: shown, newPassword: 'newer' });
  t.deepEqual(await again.envelopes.openMasterKeys(), keys, 'the keyring is unchanged');
});

test('nothing is sent before the words were typed as shown', async (t) => {
  const { session, credentials } = steady;
  const { password } = credentials;
  const draft = session.recovery.draft();
  line.mend();
  for (const words of ['', createRecoveryWords(), draft.words.slice(0, -1)]) {
    const confirming = draft.confirm({ words, password });
    await t.throwsAsync(confirming, { instanceOf: RecoveryWordsError });
  }
  const recovering = client.recover({ ...credentials, words: 'jam', newPassword: 'new' });
  await t.throwsAsync(recovering, { code: 'recovery_words_incomplete' });
  t.deepEqual(line.sent, []);
  await t.throwsAsync(session.recovery.check(draft.words), { code: 'not_found' });
  const wrong = draft.confirm({ words: draft.words, password: 'wrong' });
  await t.throwsAsync(wrong, invalidProof);
});

test('new words replace the old ones, and one of two concurrent clients succeeds', async (t) => {
  const { session, credentials } = steady;
  const { email, password } = credentials;
  const first = await setWords(session, password);
  const second = await setWords(session, password);
  t.false(await session.recovery.check(first));
  t.true(await session.recovery.check(second));
  await t.throwsAsync(client.recover({ email, words: first, newPassword: 'new' }), invalidProof);

  let faster = '';
  const slow = connect(vault, async (input, init) => {
    if (init?.method === 'PUT') faster = await setWords(session, password);
    return line.fetch(input, init);
  });
  const slower = setWords(await slow.login(credentials), password);
  await t.throwsAsync(slower, { code: 'recovery_changed' });
  t.true(await session.recovery.check(faster));
});

test('a failed recovery names its reason', async (t) => {
  const { session, credentials } = await createUser(vault, client);
  const { email, password } = credentials;
  const recover = (words: string) => client.recover({ email, words, newPassword: 'new' });
  await t.throwsAsync(recover(createRecoveryWords()), { code: 'user_not_found' });
  const words = await setWords(session, password);

  // The session ends as if its ten minutes were over, or the words had been changed elsewhere.
  const slow = connect(vault, async (input, init) => {
    if (init?.method === 'PUT') {
      await sql(
        `update login_sessions set revoked_at = now()
         where user_id = (select id from accounts where email = $1)`,
        [email],
      );
    }
    return line.fetch(input, init);
  });
  const late = slow.recover({ email, words, newPassword: 'new' });
  await t.throwsAsync(late, { code: 'invalid_token' });

  await sql('delete from known_addresses');
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await t.throwsAsync(recover(createRecoveryWords()), invalidProof);
  }
  await t.throwsAsync(recover(words), { code: 'rate_limited' });
});

test('a recovery that broke anywhere can be started again, despite lost responses', async (t) => {
  const { credentials, masterKey } = await createUser(vault, client);
  const { email, password } = credentials;
  const patientSession = await patient.login(credentials);
  line.loseFirstAnswers(/envelope$/);
  await setWords(patientSession, password);
  line.loseFirstAnswers(/envelope$/);
  const words = await setWords(patientSession, password);
  line.breakAt(4, 'answer');
  const recovering = client.recover({ email, words, newPassword: 'second password' });
  await t.throwsAsync(recovering, { code: 'network_error' });
  t.is(line.sent.at(-1), 'PUT /v1/auth/credentials');
  line.loseFirstAnswers(/envelope$|credentials$/);
  const recovered = await patient.recover({ email, words, newPassword: 'third password' });
  t.deepEqual(await recovered.envelopes.openMasterKey(), masterKey);
  t.true(await recovered.recovery.check(words));
  secrets.push('second password', 'third password', ...spellingsOfKey(masterKey));
});

test('words that open an outdated master key are detected', async (t) => {
  const { session, credentials } = steady;
  const words = await setWords(session, credentials.password);
  const { reauthToken } = await session.reauthenticate(credentials.password);
  await session.http.send({
    method: 'PUT',
    path: '/v1/crypto/keys/recovery-envelope',
    headers: { 'if-match': '*', 'x-reauth-token': reauthToken },
    json: { encryptedEnvelope: encodeBase64(randomBytes(40)) },
  });
  t.false(await session.recovery.check(words));
});

test('no password, recovery word or key of these tests left the client', (t) => {
  const sent = line.everythingSent();
  t.true(sent.includes('recoveryVerifier') && secrets.length > 100);
  for (const secret of new Set(secrets)) t.false(sent.includes(secret), secret);
});
