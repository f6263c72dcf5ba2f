import { randomBytes } from 'node:crypto';
import { anyEnvelope } from '../../support/accounts/owner.ts';
import { recoveryFields } from '../../support/accounts/recovery-account.ts';
import { inventAccount, type TestAccount } from '../../support/accounts/test-account.ts';

/** Returns the body that sets a new password for the same e-mail address. */
export function newPassword({ email }: TestAccount) {
  const next = inventAccount(email);
  const { saltHex: salt, verifierHex: verifier } = next;
  return { next, json: { salt, verifier, masterEnvelope: anyEnvelope() } };
}

/** Returns the body that sets a new password and a new master key. */
export function newMasterKey(account: TestAccount, deviceIds: readonly string[]) {
  const { next, json } = newPassword(account);
  const words = inventAccount();
  const rekey = {
    recovery: { encryptedEnvelope: anyEnvelope(), ...recoveryFields(words) },
    devices: deviceIds.map((deviceId) => ({ deviceId, encryptedEnvelope: anyEnvelope() })),
    keyring: randomBytes(60).toString('base64'),
  };
  return { next, words, json: { ...json, ...rekey } };
}
