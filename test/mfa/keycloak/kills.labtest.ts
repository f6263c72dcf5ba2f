import type { IncomingMessage } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { pauseAt, untilWaiting } from '../../support/accounts/paused-statement.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { isWrite, type Fault } from '../../support/mfa/faulty-provider.ts';
import { startFaultyVault, type FaultyVault } from '../../support/mfa/faulty-vault.ts';
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

/** Where a process is killed: at its `nth` request that changes the provider, or in Postgres. */
type Step =
  | { readonly nth: number; readonly fault: Extract<Fault, 'hang' | 'silent'> }
  | { readonly statement: string };

const verifySteps: Readonly<Record<string, Step>> = {
  'when the code is taken': { statement: 'update on mfa_pending' },
  'before the factors are written': { nth: 1, fault: 'hang' },
  'after the factors are written': { nth: 1, fault: 'silent' },
  'while the change is recorded': { statement: 'delete on mfa_pending' },
};

const disableSteps: Readonly<Record<string, Step>> = {
  'before the recovery codes are removed': { nth: 1, fault: 'hang' },
  'after the recovery codes are removed': { nth: 1, fault: 'silent' },
  'before the TOTP is removed': { nth: 2, fault: 'hang' },
  'after the TOTP is removed': { nth: 2, fault: 'silent' },
  'while the change is recorded': { statement: 'insert on audit_log' },
};

/** Sends a request to a process of its own, and kills the process at the step. */
async function killAt(
  { vault, provider, settings, sql }: FaultyVault,
  user: MfaUser,
  ask: (user: MfaUser) => Promise<unknown>,
  step: Step,
): Promise<void> {
  const replica = await startReplica(vault, settings);
  const asked = () => void ask(asMfaUser(vault, user, replica)).catch(() => undefined);
  if ('statement' in step) {
    const paused = await pauseAt(vault, step.statement);
    asked();
    await untilWaiting(vault, 1);
    replica.process.kill('SIGKILL');
    await replica.process.exited;
    await paused.end();
  } else {
    let writes = 0;
    provider.breakAs((request: IncomingMessage) => {
      if (isWrite(request)) writes += 1;
      return isWrite(request) && writes === step.nth ? step.fault : undefined;
    });
    asked();
    await provider.faultMet();
    replica.process.kill('SIGKILL');
    await replica.process.exited;
    provider.breakAs(() => undefined);
  }
  // The lease of the dead process expires.
  await sql('update mfa_users set held_until = now()');
}

async function start(t: ExecutionContext): Promise<FaultyVault> {
  const faulty = await startFaultyVault();
  t.teardown(() => faulty.stop());
  return faulty;
}

for (const [when, step] of Object.entries(verifySteps)) {
  test.serial(`an app killed ${when} of a verify leaves one of two states`, async (t) => {
    const faulty = await start(t);
    const { vault, factorsOf } = faulty;
    const user = await createMfaUser(vault);
    const secret = await user.begin();
    await untilEarlyInStep();
    await killAt(faulty, user, (each) => each.verify(codeOf(secret, -1)), step);
    const { enabled } = (await user.status()).body as { readonly enabled: boolean };
    t.is((await factorsOf(user)).totps.length, enabled ? 1 : 0);

    const { status, text } = await user.verify(codeOf(secret, 1));
    t.is(status, 200, text);
    await assertEnabled(t, user);
    const { totps, recoveryCodes } = await factorsOf(user);
    t.deepEqual([totps.length, recoveryCodes.length], [1, 1]);
    t.deepEqual(await mfaActions(vault, user.userId), ['mfa.started', 'mfa.enabled']);
  });
}

for (const [when, step] of Object.entries(disableSteps)) {
  test.serial(`an app killed ${when} of a disable leaves one of two states`, async (t) => {
    const faulty = await start(t);
    const { vault, factorsOf } = faulty;
    const user = await createMfaUser(vault);
    await user.enable();
    await killAt(faulty, user, (each) => each.disable(), step);
    const { enabled } = (await user.status()).body as { readonly enabled: boolean };
    t.is((await factorsOf(user)).totps.length, enabled ? 1 : 0);

    const { status, text } = await user.disable();
    t.is(status, 200, text);
    await assertDisabled(t, user);
    const { totps, recoveryCodes } = await factorsOf(user);
    t.deepEqual([totps.length, recoveryCodes.length], [0, 0]);
    const actions = ['mfa.started', 'mfa.enabled', 'mfa.disabled'];
    t.deepEqual(await mfaActions(vault, user.userId), actions);
  });
}

test.serial('an app killed after new recovery codes are written leaves their entry', async (t) => {
  const faulty = await start(t);
  const { vault } = faulty;
  const user = await createMfaUser(vault);
  await user.enable();
  await killAt(faulty, user, (each) => each.regenerate(), { nth: 1, fault: 'silent' });
  t.is((await user.regenerate()).status, 200);
  await assertEnabled(t, user);
  const replaced = ['mfa.codes_regenerated', 'mfa.codes_regenerated'];
  t.deepEqual(await mfaActions(vault, user.userId), ['mfa.started', 'mfa.enabled', ...replaced]);
});
