import test from 'ava';
import { blobSource } from '../../../client/files/byte-source.ts';
import { pathOf } from '../../support/client/recording-fetch.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';

test('the client reauthenticates and closes an account without sending the password', async (t) => {
  const vault = sharedVault();
  const bodies: string[] = [];
  const client = connect(vault, async (input, init) => {
    if (typeof init?.body === 'string') bodies.push(init.body);
    return fetch(input, init);
  });
  const { session, masterKey, credentials } = await createUser(vault, client);
  const { password } = credentials;
  const evidence = {
    source: blobSource(new Blob(['agreed'])),
    name: 'a.txt',
    mediaType: 'text/plain',
  };
  const { id } = await session.storeDocument({ ...evidence, masterKey });
  const { proof } = await session.certifyDocument(id);

  const wrong = { name: 'VaultError', code: 'invalid_proof' };
  await t.throwsAsync(session.reauthenticate(`${password}.`), wrong);
  const { reauthToken, expiresAt } = await session.reauthenticate(password);
  t.is(reauthToken.split('.').length, 3);
  t.true(Date.parse(expiresAt) > Date.now());
  t.is((await session.documents.get(id)).status, 'SEALED');

  await session.closeAccount(password);
  const ended = { name: 'ClientError', code: 'session_ended' };
  await t.throwsAsync(session.documents.get(id), ended);
  await t.throwsAsync(session.closeAccount(password), ended);
  await t.throwsAsync(client.login(credentials), { name: 'VaultError', code: 'user_not_found' });
  t.false(bodies.join('\n').includes(password));
  const keys = await client.auditKeys();
  t.true(keys.some(({ keyId }) => keyId === proof.hsmKeyId));
});

test('a closure whose response was lost is recognised as done', async (t) => {
  const vault = sharedVault();
  let lost = 0;
  const client = connect(vault, async (input, init) => {
    const response = await fetch(input, init);
    if (init?.method !== 'DELETE' || pathOf(input) !== '/v1/auth/account' || lost > 0) {
      return response;
    }
    lost += 1;
    throw new TypeError('the connection broke');
  });
  const { session, credentials } = await createUser(vault, client);
  const closing = session.closeAccount(credentials.password);
  await t.throwsAsync(closing, { name: 'ClientError', code: 'session_ended' });
  t.is(lost, 1);
  await t.throwsAsync(client.login(credentials), { name: 'VaultError', code: 'user_not_found' });
});
