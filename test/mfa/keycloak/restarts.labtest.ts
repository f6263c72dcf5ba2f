import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';
import { realmVariables } from '../../../app/dev/identity-provider/realm.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { connectTo, soon } from '../../identity-provider/provider-contract.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { assertUnavailable, timed } from '../../support/mfa/faulty-vault.ts';
import {
  asMfaUser,
  assertDisabled,
  assertEnabled,
  codeOf,
  createMfaUser,
  mfaActions,
  untilEarlyInStep,
  type MfaUser,
} from '../../support/mfa/mfa-user.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

const { origin } = new URL(process.env['KEYCLOAK_ISSUER'] ?? '');

async function lab(command: 'hang' | 'resume' | 'crash' | 'restart'): Promise<void> {
  await promisify(execFile)('test/labs/keycloak-lab', [command]);
}

async function factorsOf({ userId }: MfaUser) {
  const provider = connectTo(origin);
  const subject = await provider.findSubject(userId, soon());
  return provider.findFactors(subject ?? '', soon());
}

/** Waits until the vault asks Keycloak again, and lets the leases of lost writes expire. */
async function untilBack(vault: TestVault, user: MfaUser): Promise<void> {
  await until(async () => (await user.status()).status === 200, {
    what: 'Keycloak to be asked again',
    timeoutMs: 60_000,
    intervalMs: 250,
  });
  await createSql(vault)('update mfa_users set held_until = now()');
}

const faults = [
  ['hanging', 'hang', 'resume'],
  ['killed, and started again', 'crash', 'restart'],
] as const;

for (const [name, begin, end] of faults) {
  test.serial(`with a Keycloak ${name}, two replicas fail in time and then agree`, async (t) => {
    const vault = await startReadyVault(realmVariables(origin));
    t.teardown(() => vault.stop());
    const replica = await startReplica(vault, realmVariables(origin));
    t.teardown(() => replica.process.stop());
    const there = (user: MfaUser) => asMfaUser(vault, user, replica);
    const [starter, leaver, renewer] = [
      await createMfaUser(vault),
      await createMfaUser(vault),
      await createMfaUser(vault),
    ];
    await leaver.enable();
    const oldCodes = new Set(await renewer.enable());
    await there(leaver).status();
    const secret = await starter.begin();
    await untilEarlyInStep();

    await lab(begin);
    try {
      const asked = await Promise.all([
        timed(starter.verify(codeOf(secret, -1))),
        timed(there(leaver).disable()),
        timed(renewer.regenerate()),
        timed(there(renewer).status()),
      ]);
      assertUnavailable(t, asked);
    } finally {
      await lab(end);
    }
    await Promise.all([untilBack(vault, leaver), untilBack(vault, there(leaver))]);

    // The step may have passed while Keycloak was away.
    const { status, text } = await there(starter).verify(codeOf(secret, 1));
    t.is(status, 200, text);
    await assertEnabled(t, starter);
    await assertEnabled(t, there(starter));
    const factors = await factorsOf(starter);
    t.deepEqual([factors?.totps.length, factors?.recoveryCodes.length], [1, 1]);
    t.deepEqual(await mfaActions(vault, starter.userId), ['mfa.started', 'mfa.enabled']);

    t.is((await leaver.disable()).status, 200);
    await assertDisabled(t, there(leaver));
    t.deepEqual(await factorsOf(leaver), { totps: [], recoveryCodes: [] });
    const ended = ['mfa.started', 'mfa.enabled', 'mfa.disabled'];
    t.deepEqual(await mfaActions(vault, leaver.userId), ended);

    const renewed = await there(renewer).regenerate();
    t.is(renewed.status, 200, renewed.text);
    const { recoveryCodes } = renewed.body as { readonly recoveryCodes: readonly string[] };
    t.true(recoveryCodes.every((code) => !oldCodes.has(code)));
    await assertEnabled(t, renewer);
  });
}
