import type { Encrypted, RowCipher, RowName } from '../encryption/row-cipher.ts';
import type { Mail, ValidateMail } from './mail.ts';

type Values = ValidateMail['values'];

/**
 * A mail as the outbox stores it: what only its recipient may know is encrypted, since the
 * fingerprint would confirm a guess of the password.
 */
export type StoredMail =
  | Exclude<Mail, ValidateMail>
  | (Omit<ValidateMail, 'values'> & { readonly encrypted: Encrypted<keyof Values> });

/** Encrypts a mail for the outbox message that `row` names. Throws signer_unavailable. */
export function encryptMail(cipher: RowCipher, row: RowName, mail: Mail): StoredMail {
  if (mail.template !== 'validate') return mail;
  const { values, ...common } = mail;
  return { ...common, encrypted: cipher.encrypt(row, values) };
}

/** Returns the mail of the outbox message that `row` names. Throws signer_unavailable. */
export function decryptMail(cipher: RowCipher, row: RowName, stored: StoredMail): Mail {
  if (!('encrypted' in stored)) return stored;
  const { encrypted, ...mail } = stored;
  return { ...mail, values: cipher.decrypt(row, encrypted) };
}
