import { wipe } from '../bytes/bytes.ts';
import type { Http } from '../http/http.ts';
import type { RetryPolicy } from '../http/retry.ts';
import type { Envelopes } from '../keys/envelopes.ts';
import type { HeldKey } from '../keys/held-key.ts';
import { listMasterKeys, presentKeyOf } from '../keys/master-keys.ts';
import { passwordMethod } from '../login/login-method.ts';
import type { Credentials } from './accounts.ts';
import { createCredential } from './credential.ts';
import { reauthenticate } from './reauth.ts';
import { replaceCredentials } from './replace-credentials.ts';

export interface AccountDependencies {
  readonly http: Http;
  readonly retry: RetryPolicy;
  readonly envelopes: Envelopes;
  readonly passwordKey: HeldKey;
  readonly email: Credentials['email'];
}

export interface PasswordChange {
  readonly password: string;
  readonly newPassword: string;
}

/**
 * Sets a new password, wraps the unchanged master key under it, and ends the user's other login
 * sessions. Throws what `reauthenticate` throws.
 */
export async function changePassword(
  dependencies: AccountDependencies,
  { password, newPassword }: PasswordChange,
): Promise<void> {
  const { envelopes, email } = dependencies;
  const { reauthToken } = await reauthenticate(dependencies, { email, password });
  const keys = await envelopes.openMasterKeys();
  const credential = await createCredential(passwordMethod, newPassword, presentKeyOf(keys));
  wipe(...listMasterKeys(keys));
  await replaceCredentials(dependencies, { credential, reauthToken });
}
