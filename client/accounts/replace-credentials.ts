import type { Http } from '../http/http.ts';
import type { Envelopes } from '../keys/envelopes.ts';
import type { HeldKey } from '../keys/held-key.ts';
import { VaultError } from '../errors/vault-error.ts';
import type { Credential } from './credential.ts';

export const credentialsPath = '/v1/auth/credentials';

/**
 * The members of a rekey request that a request for a new password alone lacks, in the vault's
 * format.
 */
export interface Rekeyed {
  readonly recovery: {
    readonly encryptedEnvelope: string;
    readonly recoverySalt: string;
    readonly recoveryVerifier: string;
  };
  readonly devices: readonly { readonly deviceId: string; readonly encryptedEnvelope: string }[];
  readonly keyring: string;
  readonly identity: {
    readonly publicKey: string;
    readonly wrappedPrivateKey: string;
    readonly signingKey: string;
    readonly wrappedSigningKey: string;
    readonly proofOfPossession: string;
    readonly endorsement?: string;
  };
}

/** Returns the body of the request that sets a new password. */
export function toCredentialsChange({ salt, verifier, encryptedEnvelope }: Credential) {
  return { salt, verifier, masterEnvelope: encryptedEnvelope };
}

/**
 * Sets a new password, and also a new master key if `rekeyed` is given, in one atomic request;
 * other login sessions end. If no response arrives, either the old or the new password may be in
 * force, so the session keeps the keys of both.
 */
export async function replaceCredentials(
  {
    http,
    envelopes,
    passwordKey,
  }: {
    readonly http: Http;
    readonly envelopes: Pick<Envelopes, 'isMasterEnvelope'>;
    readonly passwordKey: HeldKey;
  },
  { credential, reauthToken }: { readonly credential: Credential; readonly reauthToken: string },
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
    // The vault may have accepted an earlier attempt whose response was lost.
    if (!(await envelopes.isMasterEnvelope(credential.encryptedEnvelope))) throw error;
  }
  passwordKey.settle(credential.envelopeKey);
}
