import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { createTokenFixture, type TokenFixture } from '../../support/audit/token-fixture.ts';

let fixture: TokenFixture;

test.before(async () => {
  fixture = await createTokenFixture();
  await fixture.tool('init');
});

test.after.always(() => fixture?.remove());

interface Outcome {
  readonly state: string;
  readonly signatures: number;
  readonly errors: string[];
  readonly foundAtWork: number;
}

async function runScenario(fault: string): Promise<Outcome> {
  const scenario = fileURLToPath(new URL('./recovery-scenario.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [scenario, fault], {
    env: fixture.environment,
  });
  return JSON.parse(stdout) as Outcome;
}

const faults = {
  'session closed': 'CKR_SESSION_HANDLE_INVALID',
  // Without a login SoftHSM hides private objects; other tokens return CKR_USER_NOT_LOGGED_IN.
  'logged out': 'CKR_OBJECT_HANDLE_INVALID',
  'library finalised': 'CKR_CRYPTOKI_NOT_INITIALIZED',
};
for (const [fault, returnValue] of Object.entries(faults)) {
  test(`every operation succeeds after the fault "${fault}"`, async (t) => {
    const { state, signatures, errors } = await runScenario(fault);
    t.is(state, 'ready');
    t.is(signatures, 40);
    t.true(errors.includes(returnValue), errors.join());
  });
}

test('a session that died while idle is replaced before it is needed', async (t) => {
  const { signatures, errors, foundAtWork } = await runScenario('session died while idle');
  t.deepEqual([...new Set(errors)], ['CKR_SESSION_HANDLE_INVALID']);
  t.is(foundAtWork, 0);
  t.is(signatures, 40);
});
