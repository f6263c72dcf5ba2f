import test, { type ExecutionContext } from 'ava';
import { createTurns } from '../../../app/async/turns.ts';
import { breakAll, breakWrites, type FaultyProvider } from '../../support/mfa/faulty-provider.ts';
import { assertUnavailable, startFaultyVault, timed } from '../../support/mfa/faulty-vault.ts';
import {
  assertDisabled,
  assertEnabled,
  codeOf,
  createMfaUser,
  mfaActions,
  untilEarlyInStep,
} from '../../support/mfa/mfa-user.ts';

/** Faults of every request to the provider, and of writes alone. */
const faults: readonly [string, (provider: FaultyProvider) => Promise<void> | void][] = [
  ['stopped', (provider) => provider.close()],
  ['hanging', (provider) => breakAll(provider, 'hang')],
  ['answering 500', (provider) => breakAll(provider, 500)],
  ['answering 401 for ever', (provider) => breakAll(provider, 401)],
  ['ten seconds slow', (provider) => breakAll(provider, 'slow')],
  ['hanging at writes', (provider) => breakWrites(provider, 'hang')],
  ['answering 500 to writes', (provider) => breakWrites(provider, 500)],
  ['cut off after each write', (provider) => breakWrites(provider, 'cut')],
  ['silent after each write', (provider) => breakWrites(provider, 'silent')],
];

/** Vaults are set up in turn: on a busy machine a call to the provider would last too long. */
const turns = createTurns(1);

/** Returns a vault of four users: one without MFA, one with a set-up begun, and two with MFA. */
async function setUp(t: ExecutionContext) {
  const faulty = await startFaultyVault();
  t.teardown(() => faulty.stop());
  const { vault } = faulty;
  const [beginner, starter, leaver, renewer] = await Promise.all([
    createMfaUser(vault),
    createMfaUser(vault),
    createMfaUser(vault),
    createMfaUser(vault),
  ]);
  const secret = await starter.begin();
  await leaver.enable();
  const oldCodes = new Set(await renewer.enable());
  return { ...faulty, beginner, starter, secret, leaver, renewer, oldCodes };
}

for (const [name, break_] of faults) {
  test(`with a provider ${name} changes fail within 5 s, and the next try succeeds`, async (t) => {
    const { vault, provider, factorsOf, mend, ...users } = await turns.take(() => setUp(t));
    const { beginner, starter, secret, leaver, renewer, oldCodes } = users;
    await untilEarlyInStep();
    await break_(provider);
    const asked = await Promise.all([
      timed(beginner.init()),
      timed(starter.verify(codeOf(secret, -1))),
      timed(leaver.disable()),
      timed(renewer.regenerate()),
    ]);
    assertUnavailable(t, asked);

    if (name === 'stopped') await provider.open();
    await mend(leaver);
    // Everything that was sent late has arrived by then.
    if (name === 'ten seconds slow') await mend(renewer);

    const { enabled } = (await starter.status()).body as { readonly enabled: boolean };
    t.is((await factorsOf(starter)).totps.length, enabled ? 1 : 0);
    t.is((await starter.verify(codeOf(secret))).status, 200, 'the next code');
    await assertEnabled(t, starter);
    const factors = await factorsOf(starter);
    t.is(factors.totps.length, 1);
    t.is(factors.recoveryCodes.length, 1);
    t.deepEqual(await mfaActions(vault, starter.userId), ['mfa.started', 'mfa.enabled']);

    t.is((await leaver.disable()).status, 200);
    await assertDisabled(t, leaver);
    const ended = ['mfa.started', 'mfa.enabled', 'mfa.disabled'];
    t.deepEqual(await mfaActions(vault, leaver.userId), ended);

    const { status, body } = await renewer.regenerate();
    t.is(status, 200);
    const { recoveryCodes } = body as { readonly recoveryCodes: readonly string[] };
    t.true(recoveryCodes.every((code) => !oldCodes.has(code)));
    await assertEnabled(t, renewer);

    t.is((await beginner.init()).status, 200);
    await assertDisabled(t, beginner);
  });
}
