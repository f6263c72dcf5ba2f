import test, { type ExecutionContext } from 'ava';
import { createOwnToken } from '../signing-keys/keys-vault.ts';
import { beginLogin, logIn } from '../support/accounts/test-account.ts';
import { createRecoverable, recover } from '../support/accounts/recovery-account.ts';
import { createTokenFixture, startSigner } from '../support/audit/token-fixture.ts';
import { createOfflineKey } from '../support/encryption/offline-key.ts';
import { serviceRequest } from '../support/http/service-request.ts';
import { testStack } from '../support/vault/stack.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { createDrillVault, type DrillVault } from './drill-vault.ts';
import { refused } from './refused.ts';

const operator = serviceRequest({ internalKey: 'test' });

/** Starts a vault that serves HTTP on the parts of a drill, and stops it after `work`. */
async function serving<T>(
  { environment }: DrillVault,
  settings: Record<string, string>,
  work: (vault: TestVault) => Promise<T>,
): Promise<T> {
  const { MAIL_DIRECTORY: _own, ...parts } = environment;
  const vault = await startReadyVault({ ...parts, ...settings });
  try {
    return await work(vault);
  } finally {
    await vault.stop();
  }
}

/** Creates a token in place of a lost one, whose keys were of the first generation. */
async function createReplacement(t: ExecutionContext): Promise<string> {
  const fixture = await createTokenFixture();
  t.teardown(() => fixture.remove());
  await fixture.tool('init 1');
  const signer = await startSigner(fixture);
  t.teardown(async () => void (await signer.stop()));
  return fixture.environment.SIGNER_SOCKET_PATH;
}

/** Puts the keys of the new token in the place of those that were lost with the old one. */
async function replaceSigningKeys({ services }: TestVault): Promise<void> {
  await services.registry.sync();
  for (const { keyId, state } of await services.registry.list()) {
    if (state !== 'CREATED') continue;
    await services.keyRotation.activate(operator, keyId, { predecessorLost: true });
  }
}

test('on a new token the escrow brings passwords back, and words need no escrow', async (t) => {
  const lost = await createOwnToken();
  t.teardown(lost.remove);
  const first = await createDrillVault(t, {
    database: testStack().templateDatabase,
    store: undefined,
    token: lost.fixture.environment.SIGNER_SOCKET_PATH,
  });
  const offline = await createOfflineKey(t);
  const settings = { KEYS_ESCROW_PUBLIC_KEY_FILE: offline.publicFile };
  const { user, escrow } = await serving(first, settings, async (vault) => {
    const created = await createRecoverable(vault);
    await first.untilMarked();
    const [generation] = await vault.services.generations.list();
    return { user: created, escrow: generation?.escrow ?? '' };
  });

  const token = await createReplacement(t);
  const restored = await createDrillVault(t, {
    database: first.database,
    store: first.storeDirectory,
    token,
  });
  const { missing, markId } = await refused(t, restored);
  t.regex(missing, /the token lacks the ACTIVE key/);
  await restored.accept(markId);

  await serving(restored, {}, async (vault) => {
    await replaceSigningKeys(vault);
    await vault.services.generations.create(operator);
    await t.throwsAsync(beginLogin(vault, user.account), { message: /challenge got 503/ });
    const { maintenance } = vault.services;
    t.like(await maintenance.reencrypt(operator, { dryRun: false }), { reencryptedCredentials: 0 });
    t.is((await recover(vault, user.account.email, user.words)).status, 200);
    t.true(vault.logLines.some((line) => line.includes('the token lacks an encryption key')));
  });

  const recovered = { KEYS_RECOVERED: offline.decrypt(escrow) };
  await serving(restored, recovered, async (vault) => {
    t.truthy(await logIn(vault, user.account));
    const { maintenance } = vault.services;
    const counts = { reencryptedCredentials: 1, reencryptedEnvelopes: 1 };
    t.like(await maintenance.reencrypt(operator, { dryRun: false }), counts);
    t.truthy(await logIn(vault, user.account));
  });

  await serving(restored, {}, async (vault) => {
    t.truthy(await logIn(vault, user.account), 'the escrow is needed no longer');
  });
});
