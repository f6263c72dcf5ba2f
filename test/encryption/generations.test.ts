import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { passwordRow } from '../../app/accounts/credential-rows.ts';
import { envelopeRow } from '../../app/envelopes/rows.ts';
import { startOwnKeysVault, type KeysVault } from '../signing-keys/keys-vault.ts';
import { createAccount, inventAccount, logIn, register } from '../support/accounts/test-account.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { findUserId } from '../support/accounts/purge-vault.ts';
import { validationMails } from '../support/accounts/mails.ts';
import { createOfflineKey } from '../support/encryption/offline-key.ts';
import { assertError } from '../support/http/error-body.ts';
import { postJson, send } from '../support/http/send.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { startVault, untilReady } from '../support/vault/vault.ts';

interface Generation {
  readonly generation: number;
  readonly isAvailable: boolean;
  readonly escrow: string | null;
  readonly escrowKey: string | null;
}

/** Sends a request of an operator, and resolves with the response. */
function ask({ vault, internalKey }: KeysVault, method: string, path: string) {
  const headers = { 'X-Internal-Api-Key': internalKey };
  return send(method, `${vault.baseUrl}/v1/internal/${path}`, { headers });
}

async function listed(keys: KeysVault): Promise<readonly Generation[]> {
  const { body } = await ask(keys, 'GET', 'encryption-keys');
  return (body as { readonly keys: readonly Generation[] }).keys;
}

async function create(keys: KeysVault): Promise<void> {
  const { status, text } = await ask(keys, 'POST', 'encryption-keys');
  if (status !== 201) throw new Error(`the new generation got ${status}: ${text}`);
}

/** Creates the next generation, and lets its lead time pass. */
async function rotate(keys: KeysVault): Promise<void> {
  await create(keys);
  await keys.sql('update encryption_keys set usable_at = now()');
  await keys.vault.services.encryptionKeys.refresh();
}

const generationsOf = async ({ sql }: KeysVault, table: string) =>
  (await sql(`select distinct key_generation from ${table} order by 1`)).map(
    ({ key_generation: generation }) => generation,
  );

async function reencrypt(keys: KeysVault, query = ''): Promise<Record<string, unknown>> {
  const { body } = await ask(keys, 'POST', `maintenance/reencrypt${query}`);
  return body as Record<string, unknown>;
}

async function storeEnvelope(t: ExecutionContext, { vault }: KeysVault, token: string) {
  const envelope = { encryptedEnvelope: Buffer.alloc(40, 7).toString('base64') };
  const path = `${vault.baseUrl}/v1/crypto/keys/master-envelope`;
  t.is((await postJson(path, envelope, token)).status, 201);
  return async () => {
    const { text } = await send('GET', path, { token });
    t.like(JSON.parse(text), envelope);
  };
}

test('a database whose clock is set back leaves the oldest key in use', async (t) => {
  const keys = await startOwnKeysVault(t);
  const { vault } = keys;
  const account = await createAccount(vault);
  await create(keys);
  await keys.sql(`update encryption_keys set usable_at = now() + interval '1 hour'`);
  await vault.services.encryptionKeys.refresh();
  await logIn(vault, account);
  const other = await createAccount(vault);
  await logIn(vault, other);
  t.deepEqual(await generationsOf(keys, "credentials where method = 'password'"), [1]);
});

test('a new generation encrypts after its lead time, and all is encrypted again', async (t) => {
  const keys = await startOwnKeysVault(t);
  const { vault } = keys;
  const account = await createAccount(vault);
  const assertEnvelope = await storeEnvelope(t, keys, await logIn(vault, account));
  const pending = inventAccount();
  await register(vault, pending);
  const [mail] = await validationMails(vault, pending.email, 1);

  await create(keys);
  const made = await listed(keys);
  t.deepEqual(
    made.map(({ generation, isAvailable }) => ({ generation, isAvailable })),
    [
      { generation: 1, isAvailable: true },
      { generation: 2, isAvailable: true },
    ],
  );
  await createAccount(vault);
  t.deepEqual(await generationsOf(keys, 'credentials'), [1]);
  await keys.sql('update encryption_keys set usable_at = now()');
  await vault.services.encryptionKeys.refresh();
  await createAccount(vault);
  t.deepEqual(await generationsOf(keys, 'credentials'), [1, 2]);

  const counts = {
    reencryptedCredentials: 2,
    reencryptedRegistrations: 1,
    reencryptedEnvelopes: 1,
    reencryptedReplacedKeys: 0,
  };
  t.like(await reencrypt(keys, '?dryRun=true'), counts);
  t.like(await reencrypt(keys), counts);
  t.like(await reencrypt(keys), { reencryptedCredentials: 0, reencryptedEnvelopes: 0 });
  for (const table of ['credentials', 'registrations', 'key_envelopes']) {
    t.deepEqual(await generationsOf(keys, table), [2], table);
  }
  await assertEnvelope();
  t.truthy(await logIn(vault, account));
  await postJson(`${vault.baseUrl}/v1/auth/validate-email`, { token: mail?.token });
  t.truthy(await logIn(vault, pending));
  const [created] = await entriesOf(keys.sql, { action: 'encryption_key.created' });
  t.is(created?.data['generation'], 2);
});

test('rows of earlier releases are readable, and no login writes more of them', async (t) => {
  const keys = await startOwnKeysVault(t);
  const { vault, sql } = keys;
  const { cipher } = vault.services;
  const account = await createAccount(vault);
  const userId = await findUserId(sql, account.email);
  const assertEnvelope = await storeEnvelope(t, keys, await logIn(vault, account));
  await sql(
    'update credentials set key_generation = null, salt = $2, verifier = $3 where account_id = $1',
    [userId, account.saltHex, account.verifierHex],
  );
  const [envelope] = await sql('select id, encrypted_envelope as wrapped from key_envelopes');
  const row = envelopeRow({ id: String(envelope?.['id']), user_id: userId });
  const values = { wrappedKey: String(envelope?.['wrapped']) };
  const { wrappedKey } = cipher.decrypt(row, { generation: 1, values });
  await sql('update key_envelopes set key_generation = null, encrypted_envelope = $1', [
    wrappedKey,
  ]);
  t.truthy(await logIn(vault, account));
  await assertEnvelope();

  t.like(await reencrypt(keys), { reencryptedCredentials: 1, reencryptedEnvelopes: 1 });
  t.deepEqual(await generationsOf(keys, 'credentials'), [1]);
  t.deepEqual(await generationsOf(keys, 'key_envelopes'), [1]);
  t.truthy(await logIn(vault, account));
  await assertEnvelope();

  const service = await connectAs(vault.databases.service);
  t.teardown(() => service.end());
  for (const plain of [
    'update credentials set key_generation = null',
    'update key_envelopes set key_generation = null',
    "insert into credentials (account_id, salt, verifier) select id, '', '' from accounts",
    `insert into replaced_keys (id, user_id, tenant_id, kind, version, wrapped_key, replaced_at)
     values (gen_random_uuid(), gen_random_uuid(), 'default', 'MASTER', 1, '', now())`,
    `insert into registrations (id, account_id, salt, verifier, token_hash, expires_at)
     select gen_random_uuid(), id, '', '', '', now() from accounts`,
  ]) {
    await t.throwsAsync(service.query(plain), { code: '42501' }, plain);
  }
});

test('another user’s verifier in an account’s row logs nobody in', async (t) => {
  const keys = await startOwnKeysVault(t);
  const { vault, sql } = keys;
  const [ada, bob] = [await createAccount(vault), await createAccount(vault)];
  await sql(
    `update credentials c set salt = o.salt, verifier = o.verifier
     from credentials o where o.account_id <> c.account_id`,
  );
  await t.throwsAsync(logIn(vault, { ...ada, authKey: bob.authKey }));
  await t.throwsAsync(logIn(vault, ada));
  const userId = await findUserId(sql, ada.email);
  t.throws(() =>
    vault.services.cipher.decrypt(passwordRow(userId), { generation: 1, values: { salt: 'AAAA' } }),
  );
});

test('each key is encrypted for the operator’s offline key, which OpenSSL decrypts', async (t) => {
  const offline = await createOfflineKey(t);
  const settings = { KEYS_ESCROW_PUBLIC_KEY_FILE: offline.publicFile };
  const keys = await startOwnKeysVault(t, settings);
  await rotate(keys);
  const generations = await listed(keys);
  const { client } = keys.signer;
  for (const { generation, escrow } of generations) {
    const { key } = await client.encryptionKey(generation);
    t.is(offline.decrypt(escrow ?? ''), `${generation}:${key.toString('base64')}`);
  }
  const input = Buffer.from(generations[0]?.escrow ?? '', 'base64');
  const options = ['rsa_padding_mode:oaep', 'rsa_oaep_md:sha256'].flatMap((each) => [
    '-pkeyopt',
    each,
  ]);
  const decrypt = ['pkeyutl', '-decrypt', '-inkey', offline.privateFile, ...options];
  t.is(
    execFileSync('openssl', decrypt, { input }).toString(),
    offline.decrypt(generations[0]?.escrow ?? ''),
  );

  const entries = await entriesOf(keys.sql, { action: 'encryption_key.escrowed' });
  t.deepEqual(
    entries.map(({ data }) => data),
    generations.map(({ generation, escrowKey }) => ({ generation, escrowKey })),
  );
});

test('keys from before the offline key are encrypted for it by the command line', async (t) => {
  const keys = await startOwnKeysVault(t);
  const { app, service } = keys.vault.databases;
  assertError(t, await ask(keys, 'POST', 'encryption-keys/escrow'), {
    status: 409,
    code: 'escrow_not_configured',
  });
  t.is((await listed(keys))[0]?.escrow, null);

  const offline = await createOfflineKey(t);
  const second = await startVault({
    ...keys.settings,
    DATABASE_URL: app,
    DATABASE_SERVICE_URL: service,
    STORAGE_DIRECTORY: keys.vault.storeDirectory,
    KEYS_ESCROW_PUBLIC_KEY_FILE: offline.publicFile,
  });
  t.teardown(() => second.stop());
  await untilReady(second.baseUrl);
  const keyFile = `${offline.publicFile}.api-key`;
  await writeFile(keyFile, keys.internalKey);
  const run = (...args: string[]) =>
    runCli(['keys', ...args, '--url', second.baseUrl, '--key-file', keyFile]);

  t.like(await run('create', 'encryption'), { code: 0, stderr: '' });
  const { stdout } = await run('escrow');
  const { key } = await keys.signer.client.encryptionKey(1);
  const [escrow = ''] = /^ {2}[A-Za-z0-9+/=]{512}$/m.exec(stdout) ?? [];
  t.is(offline.decrypt(escrow.trim()), `1:${key.toString('base64')}`);
  t.regex((await run('generations')).stdout, /^encryption-1\n[^]*^encryption-2\n/m);
  const again = await run('escrow');
  t.is(again.stdout, stdout, 'what is encrypted for the key stays as it is');
});
