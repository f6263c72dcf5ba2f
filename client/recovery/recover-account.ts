import type { Accounts } from '../accounts/accounts.ts';
import { createCredential } from '../accounts/credential.ts';
import { credentialsPath, toCredentialsChange } from '../accounts/replace-credentials.ts';
import { decodeBase64 } from '../bytes/base64.ts';
import { wipe } from '../bytes/bytes.ts';
import type { Http } from '../http/http.ts';
import { readGeneration } from '../keys/keyring.ts';
import { unwrapMasterKey } from '../keys/master-key-wrap.ts';
import { passwordMethod } from '../login/login-method.ts';
import { hasCode } from '../errors/vault-error.ts';
import { parseRecoveryWords } from './recovery-words.ts';
import { recoveryPath, RecoveryEnvelope } from './recovery.ts';

export interface RecoverAccount {
  readonly email: string;
  /** The recovery words as the user typed them. */
  readonly words: string;
  readonly newPassword: string;
}

/**
 * Sets a new password with the recovery words, then logs in and resolves with the result of
 * `logIn`. The master key, the recovery words, the keyring and the devices stay unchanged; all
 * login sessions end. Throws RecoveryWordsError before anything is sent, what `Accounts.recover`
 * and `logIn` throw, and VaultError token_expired after ten minutes.
 */
export async function recoverAccount<T>(
  { http, accounts }: { readonly http: Http; readonly accounts: Pick<Accounts, 'recover'> },
  { email, words, newPassword }: RecoverAccount,
  logIn: () => Promise<T>,
): Promise<T> {
  const phrase = parseRecoveryWords(words);
  const { accessToken, wordsKey } = await accounts.recover({ email, words: phrase });
  const headers = { authorization: `Bearer ${accessToken}` };
  const { encryptedEnvelope, keyring } = await http.json(RecoveryEnvelope, {
    method: 'GET',
    path: recoveryPath,
    headers,
  });
  const generation = readGeneration(keyring);
  const envelope = decodeBase64(encryptedEnvelope);
  const masterKey = await unwrapMasterKey(wordsKey, envelope, generation);
  const present = { masterKey, generation };
  const credential = await createCredential(passwordMethod, newPassword, present);
  wipe(wordsKey, masterKey, credential.envelopeKey);
  const json = toCredentialsChange(credential);
  try {
    await http.send({ method: 'PUT', path: credentialsPath, headers, json });
  } catch (error) {
    if (!hasCode(error, 'invalid_token')) throw error;
    // Setting the password ends the recovery session too. If an earlier attempt succeeded and only
    // its response was lost, a login with the new password succeeds.
    return logInOr(error, logIn);
  }
  return logIn();
}

async function logInOr<T>(error: unknown, logIn: () => Promise<T>): Promise<T> {
  try {
    return await logIn();
  } catch (failure) {
    throw hasCode(failure, 'invalid_proof') ? error : failure;
  }
}
