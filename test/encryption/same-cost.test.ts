import test from 'ava';
import { createAccounts } from '../../app/accounts/accounts.ts';
import { openDatabase } from '../../app/db/database.ts';
import type { RowCipher } from '../../app/encryption/row-cipher.ts';
import { createAccount, inventAccount } from '../support/accounts/test-account.ts';
import { startReadyVault } from '../support/vault/vault.ts';

test('an unknown e-mail address costs the decryption that a known one does', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { app: url, service: serviceUrl } = vault.databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  const lengths: number[][] = [];
  const { cipher } = vault.services;
  const counting: RowCipher = {
    ...cipher,
    decrypt(row, stored) {
      const values = cipher.decrypt(row, stored);
      lengths.push(Object.values<string>(values).map((text) => text.length));
      return values;
    },
  };
  const accounts = createAccounts({ db, cipher: counting });
  const known = await createAccount(vault);
  const found = await accounts.findCredentials(known.email, 'password');
  t.like(found, { salt: known.saltHex, verifier: known.verifierHex });
  const userId = found?.userId ?? '';
  t.is(await accounts.findCredentials(inventAccount().email, 'password'), undefined);
  t.is((await accounts.findActiveById(userId))?.verifier, known.verifierHex);
  t.is(await accounts.findActiveById('00000000-0000-8000-8000-000000000000'), undefined);
  t.deepEqual(
    lengths,
    Array.from({ length: 4 }, () => [64, 768]),
  );

  t.is((await accounts.findCredentials(known.email, 'recovery'))?.verifier, null);
  t.is(await accounts.findCredentials(inventAccount().email, 'recovery'), undefined);
  t.is(lengths.length, 4, 'the credentials of recovery words are not encrypted');
});
