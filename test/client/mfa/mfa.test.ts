import test from 'ava';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { createUser } from '../../support/client/user.ts';
import { codeOf, untilEarlyInStep, wrongCode } from '../../support/mfa/mfa-user.ts';
import { runProgram, untilLine } from '../../support/processes/processes.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';

test('a user sets MFA up, gets new recovery codes and disables it', async (t) => {
  await untilEarlyInStep();
  const { session, credentials } = await createUser(sharedVault());
  const { mfa } = session;
  t.deepEqual(await mfa.status(), { enabled: false, configuredAt: null });
  const { secret, qrCodeUri, expiresAt } = await mfa.begin();
  t.true(qrCodeUri.includes(`secret=${secret}`));
  t.true(new Date(expiresAt) > new Date());
  const wrong = await t.throwsAsync(mfa.confirm(wrongCode(secret)), { instanceOf: VaultError });
  t.is(wrong?.code, 'invalid_code');
  const codes = await mfa.confirm(codeOf(secret));
  t.is(codes.length, 15);
  t.like(await mfa.status(), { enabled: true, recoveryCodesRemaining: 15 });
  const { password } = credentials;
  const newer = await mfa.replaceRecoveryCodes(password);
  t.is(new Set([...codes, ...newer]).size, 30);
  const refused = await t.throwsAsync(mfa.disable(`${password}.`), { instanceOf: VaultError });
  t.is(refused?.code, 'invalid_proof');
  await mfa.disable(password);
  await mfa.disable(password);
  t.like(await mfa.status(), { enabled: false });
});

test('the demo shows the URI, takes the code and disables MFA again', async (t) => {
  await untilEarlyInStep();
  const { baseUrl, mailDirectory } = sharedVault();
  const settings = { PROBATIO_URL: baseUrl, PROBATIO_MAIL: mailDirectory };
  const demo = runProgram(t, ['client/demo/main.ts', '--mfa'], settings);
  const line = await untilLine(demo, /otpauth:\/\/totp\//);
  const [, secret = ''] = /secret=([A-Z2-7]{32})/.exec(line) ?? [];
  demo.type('12345');
  await untilLine(demo, /a code has 6 digits/);
  demo.type(wrongCode(secret));
  await untilLine(demo, /wrong or was used/);
  demo.type(codeOf(secret).replace(/^.../, '$& '));
  t.is(await demo.exitCode, 0, demo.lines.join('\n'));
  const codes = demo.lines.filter((each) => /^ {2}[A-Z2-9]{4}(-[A-Z2-9]{4}){2}$/.test(each));
  t.is(codes.length, 15);
  t.is(demo.lines.at(-1), 'MFA is disabled again');
});
