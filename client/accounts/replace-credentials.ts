import type { Http } from '../http/http.ts';
import type { Envelopes } from '../keys/envelopes.ts';
import type { HeldKey } from '../keys/held-key.ts';
import { VaultError } from '../errors/vault-error.ts';
import type { Credential } from './credential.ts';

export const credentialsPath = '/v1/auth/credentials';

/** What a new master key brings along, as the vault takes it. */
export interface Rekeyed {
  readonly recovery: {
    readonly encryptedEnvelope: string;
    readonly recoverySalt: string;
    readonly recoveryVerifier: string;
  };
  readonly devices: readonly { readonly deviceId: string; readonly encryptedEnvelope: string }[];
  readonly keyring: string;
}

/** The body of the request that sets a new password. */
export function toCredentialsChange({ salt, verifier, encryptedEnvelope }: Credential) {
  return { salt, verifier, masterEnvelope: encryptedEnvelope };
}

/**
 * Sets a new password, and with `rekeyed` a new master key, all at once or not at all; other sessions
 * end. Where no answer comes, the session goes on with whichever of both passwords it is.
 */
export async function replaceCredentials(
  {
    http,
    envelopes,
    passwordKey,
  }: { http: Http; envelopes: Pick<Envelopes, 'isMasterEnvelope'>; passwordKey: HeldKey },
  { credential, reauthToken }: { credential: Credential; reauthToken: string },
  rekeyed?: Rekeyed,
): Promise<void> {
  passwordKey.add(credential.envelopeKey);
  try {
    await http.send({
      method: 'PUT',
      path: credentialsPath,
      headers: { 'x-reauth-token': reauthToken },
      json: { ...toCredentialsChange(credential), ...rekeyed },
    });
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    // The answer to an earlier try may be lost.
    if (!(await envelopes.isMasterEnvelope(credential.encryptedEnvelope))) throw error;
  }
  passwordKey.settle(credential.envelopeKey);
}
