import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { startReplica, type Replica } from '../support/documents/replica.ts';
import type { JsonAnswer } from '../support/http/send.ts';
import { startFaultyVault, type FaultyVault } from '../support/mfa/faulty-vault.ts';
import {
  asMfaUser,
  assertDisabled,
  assertEnabled,
  codeOf,
  createMfaUser,
  mfaActions,
  untilEarlyInStep,
  type MfaUser,
} from '../support/mfa/mfa-user.ts';

let faulty: FaultyVault;
let replica: Replica;

test.before(async () => {
  faulty = await startFaultyVault();
  replica = await startReplica(faulty.vault, faulty.settings);
});

test.after.always(async () => {
  await replica?.process.stop();
  await faulty?.stop();
});

const atOnce = 20;

/** Sends a request 20 times at once, to two processes in turn. */
function race(user: MfaUser, ask: (user: MfaUser) => Promise<JsonAnswer>) {
  const other = asMfaUser(faulty.vault, user, replica);
  const askers = Array.from({ length: atOnce }, (_, n) => (n % 2 === 0 ? user : other));
  return Promise.all(askers.map((each) => untilNotBusy(() => ask(each))));
}

/** Repeats a request that waited in vain for the others, as clients do on a slow machine. */
async function untilNotBusy(ask: () => Promise<JsonAnswer>): Promise<JsonAnswer> {
  return until(
    async () => {
      const answer = await ask();
      return answer.status === 503 ? undefined : answer;
    },
    { what: 'a turn', timeoutMs: 60_000 },
  );
}

function codesOf(answers: readonly JsonAnswer[]): Record<string, number> {
  const names = answers.map(({ status, body }) =>
    `${status} ${(body as { code?: string }).code ?? ''}`.trim(),
  );
  const groups = Object.groupBy(names, (name) => name);
  return Object.fromEntries(Object.entries(groups).map(([name, all = []]) => [name, all.length]));
}

test.serial('of 20 set-ups that begin at once, the last one is in force', async (t) => {
  const user = await createMfaUser(faulty.vault);
  const answers = await race(user, (each) => each.init());
  t.deepEqual(codesOf(answers), { 200: atOnce });
  await untilEarlyInStep();
  const secrets = answers.map(({ body }) => (body as { readonly secret: string }).secret);
  const verified = [];
  for (const secret of secrets) verified.push(await user.verify(codeOf(secret)));
  const { 200: right } = codesOf(verified);
  t.is(right, 1);
  t.is((await faulty.factorsOf(user)).totps.length, 1);
});

test.serial('of 20 right codes at once, one enables MFA', async (t) => {
  const user = await createMfaUser(faulty.vault);
  const secret = await user.begin();
  const code = codeOf(secret);
  const answers = await race(user, (each) => each.verify(code));
  t.deepEqual(codesOf(answers), { 200: 1, '409 mfa_already_enabled': atOnce - 1 });
  await assertEnabled(t, user);
  const { totps, recoveryCodes } = await faulty.factorsOf(user);
  t.is(totps.length, 1);
  t.is(recoveryCodes.length, 1);
  t.deepEqual(await mfaActions(faulty.vault, user.userId), ['mfa.started', 'mfa.enabled']);
});

test.serial(
  '20 requests to disable MFA at once all end with MFA disabled, and one entry',
  async (t) => {
    const user = await createMfaUser(faulty.vault);
    await user.enable();
    const answers = await race(user, (each) => each.disable());
    t.deepEqual(codesOf(answers), { 200: atOnce });
    await assertDisabled(t, user);
    const actions = ['mfa.started', 'mfa.enabled', 'mfa.disabled'];
    t.deepEqual(await mfaActions(faulty.vault, user.userId), actions);
  },
);

test.serial('of 20 replacements of recovery codes at once, one set is in force', async (t) => {
  const user = await createMfaUser(faulty.vault);
  await user.enable();
  const answers = await race(user, (each) => each.regenerate());
  t.deepEqual(codesOf(answers), { 200: atOnce });
  const { recoveryCodes } = await faulty.factorsOf(user);
  t.deepEqual(
    recoveryCodes.map(({ remaining }) => remaining),
    [15],
  );
});
