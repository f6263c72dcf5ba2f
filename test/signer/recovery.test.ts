import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { createTokenFixture } from './token-fixture.ts';
import type { TokenFixture } from './token-fixture.ts';

let fixture: TokenFixture;

test.before(async () => {
  fixture = await createTokenFixture();
  await fixture.tool('init');
});

test.after.always(() => fixture?.remove());

const scenario = fileURLToPath(new URL('./recovery-scenario.ts', import.meta.url));
const faults = {
  'session closed': 'CKR_SESSION_HANDLE_INVALID',
  // SoftHSM hides private objects from who is not logged in; others say CKR_USER_NOT_LOGGED_IN.
  'logged out': 'CKR_OBJECT_HANDLE_INVALID',
  'library finalised': 'CKR_CRYPTOKI_NOT_INITIALIZED',
};
for (const [fault, returnValue] of Object.entries(faults)) {
  test(`${fault}: every operation is carried out all the same`, async (t) => {
    const { stdout } = await promisify(execFile)(process.execPath, [scenario, fault], {
      env: fixture.environment,
    });
    const outcome = JSON.parse(stdout) as { state: string; signatures: number; errors: string[] };
    t.is(outcome.state, 'ready');
    t.is(outcome.signatures, 40);
    t.true(outcome.errors.includes(returnValue), outcome.errors.join());
  });
}
