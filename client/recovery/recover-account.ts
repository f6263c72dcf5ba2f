import type { Accounts } from '../accounts/accounts.ts';
import { createCredential } from '../accounts/credential.ts';
import { credentialsPath, toCredentialsChange } from '../accounts/replace-credentials.ts';
import { decodeBase64 } from '../bytes/base64.ts';
import { wipe } from '../bytes/bytes.ts';
import { unwrapKey } from '../crypto/aes-kw.ts';
import type { Http } from '../http/http.ts';
import { passwordMethod } from '../login/login-method.ts';
import { hasCode } from '../errors/vault-error.ts';
import { parseRecoveryWords } from './recovery-words.ts';
import { recoveryPath, RecoveryEnvelope } from './recovery.ts';

export interface RecoverAccount {
  readonly email: string;
  /** As the user typed them. */
  readonly words: string;
  readonly newPassword: string;
}

/**
 * Sets a new password by the recovery words, and answers what `logIn` makes of it. The master key, the
 * words, the keyring and the devices stay; all sessions end. Throws RecoveryWordsError before anything is
 * sent, and as `Accounts.recover` and `logIn` do; token_expired after ten minutes.
 */
export async function recoverAccount<T>(
  { http, accounts }: { http: Http; accounts: Pick<Accounts, 'recover'> },
  { email, words, newPassword }: RecoverAccount,
  logIn: () => Promise<T>,
): Promise<T> {
  const phrase = parseRecoveryWords(words);
  const { accessToken, wordsKey } = await accounts.recover({ email, words: phrase });
  const headers = { authorization: `Bearer ${accessToken}` };
  const { encryptedEnvelope } = await http.json(RecoveryEnvelope, {
    method: 'GET',
    path: recoveryPath,
    headers,
  });
  const masterKey = await unwrapKey(wordsKey, decodeBase64(encryptedEnvelope));
  const credential = await createCredential(passwordMethod, newPassword, masterKey);
  wipe(wordsKey, masterKey, credential.envelopeKey);
  const json = toCredentialsChange(credential);
  try {
    await http.send({ method: 'PUT', path: credentialsPath, headers, json });
  } catch (error) {
    if (!hasCode(error, 'invalid_token')) throw error;
    // It ends the session that it comes in. If only its answer was lost, the new password is good.
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
