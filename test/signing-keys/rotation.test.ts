import { createPublicKey, verify } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createAccount, openSession } from '../support/accounts/test-account.ts';
import { refresh, tryToken } from '../support/accounts/sessions.ts';
import { startReplica } from '../support/documents/replica.ts';
import { startExchangeLoad } from './exchange-load.ts';
import { startOwnKeysVault, type KeysVault } from './keys-vault.ts';
import { composeSealedText, type StoredText } from '../../app/proof/sealed-text.ts';

const rounds = 3;

test('keys are rotated under load: no request fails, no key signs while inactive', async (t) => {
  const keys = await startOwnKeysVault(t, { PLANS_STANDARD_OPEN_UPLOADS: '100000' });
  const replica = await startReplica(keys.vault, keys.settings);
  t.teardown(async () => {
    replica.process.kill('SIGTERM');
    await replica.process.exited;
  });
  const processes = [keys.vault, { ...keys.vault, baseUrl: replica.baseUrl }];
  const account = await createAccount(keys.vault);
  // The load opens more login sessions than a user may have, so the early one is of another user.
  const early = await openSession(keys.vault, await createAccount(keys.vault));
  const first = await keys.activeKey('audit');

  const load = await startExchangeLoad(processes, account);
  const activated: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const made = [await keys.create('audit'), await keys.create('token')];
    for (const { keyId } of made) await keys.activate(keyId);
    activated.push(...made.map(({ keyId }) => keyId));
    await load.nextTurn();
  }
  const { keyId: newest } = await keys.activeKey('token');
  await until(async () => [...(await load.nextTurn())].every((key) => key === newest), {
    what: 'tokens of the newest key from both processes',
    timeoutMs: 60_000,
  });
  await load.stop();
  t.deepEqual(load.failures, []);

  for (const process of processes) {
    t.is((await tryToken(process, early.accessToken)).status, 200);
  }
  t.is((await refresh(keys.vault, early.refreshToken)).status, 200);
  await assertSealed(t, keys);
  const auditKeys = (await keys.list()).filter(({ purpose }) => purpose === 'audit');
  t.deepEqual(
    auditKeys.map(({ keyId }) => keyId),
    [first.keyId, ...activated.filter((_key, index) => index % 2 === 0)],
  );
  for (const { keyId } of auditKeys) {
    const sealed = await keys.sql('select 1 from audit_entries where key_id = $1', [keyId]);
    t.true(sealed.length > 0, keyId);
  }
});

/** Asserts that every entry has a valid signature of a key that was active when it was sealed. */
async function assertSealed(t: ExecutionContext, { sql, list }: KeysVault): Promise<void> {
  const count = async (condition: string) =>
    (
      await sql(`select 1 from audit_entries e left join signing_keys k using (key_id)
                 where ${condition}`)
    ).length;
  await until(async () => (await count("e.state <> 'SEALED'")) === 0, {
    what: 'the signatures',
    timeoutMs: 60_000,
  });
  const outOfTime =
    'k.key_id is null or e.sealed_at < k.activated_at ' +
    "or e.sealed_at > coalesce(k.retired_at, 'infinity')";
  t.is(await count(outOfTime), 0);

  const publicKeys = new Map(
    (await list()).map(({ keyId, publicKey }) => [
      keyId,
      createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' }),
    ]),
  );
  const entries = await sql(
    'select id, key_id, canonical, sealed_at, late, signature from audit_entries',
  );
  t.true(entries.length > 300, String(entries.length));
  for (const { id, key_id, signature, ...stored } of entries) {
    const key = publicKeys.get(String(key_id));
    const bytes = Buffer.from(String(signature), 'base64');
    const text = composeSealedText(stored as unknown as StoredText);
    if (key === undefined || !verify('sha3-256', Buffer.from(text), key, bytes)) {
      t.fail(`${String(id)} does not verify`);
    }
  }
}
