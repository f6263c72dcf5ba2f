import { randomBytes } from 'node:crypto';

/** 32 upper-case letters and digits without those that look alike: I and 1, O and 0. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeCharacters = 12;
const groupCharacters = 4;

export const recoveryCodeCount = 15;

/** Makes 15 recovery codes of 60 random bits each, without dashes. */
export function makeRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodeCount }, () =>
    Array.from(randomBytes(codeCharacters), (byte) => alphabet[byte % alphabet.length]).join(''),
  );
}

/** Returns a recovery code as it is shown: `XXXX-XXXX-XXXX`. */
export function showRecoveryCode(code: string): string {
  return (code.match(new RegExp(`.{${groupCharacters}}`, 'g')) ?? []).join('-');
}
