import { createPublicKey, randomUUID, type JsonWebKey } from 'node:crypto';
import { createSignerClient } from '../../../signer/protocol/client.ts';
import { standardClaims } from '../../support/accounts/trusted-key.ts';
import type { SingleVault } from '../../support/processes/vault-processes.ts';
import type { Person } from '../sync/people.ts';

interface VaultToken {
  readonly token: string;
  /** The PEM of the key that signed it. */
  readonly publicKey: string;
}

/**
 * Has the vault's own signer issue an access token, valid for 15 minutes, and returns it with its
 * key.
 */
export async function issueToken(
  { baseUrl, signerSocketPath }: SingleVault,
  auth: { readonly issuer: string; readonly audience: string },
  { userId, sessionId }: Person,
): Promise<VaultToken> {
  const response = await fetch(`${baseUrl}/.well-known/jwks.json`);
  const { keys } = (await response.json()) as {
    readonly keys: readonly (JsonWebKey & { readonly kid: string })[];
  };
  const [key] = keys;
  if (key === undefined) throw new Error('the vault has no key for tokens');
  const iat = Math.floor(Date.now() / 1_000);
  const token = await createSignerClient({ socketPath: signerSocketPath }).signToken({
    keyId: key.kid,
    typ: 'at+jwt',
    claims: {
      ...standardClaims(auth),
      jti: randomUUID(),
      sub: userId,
      sid: sessionId,
      iat,
      exp: iat + 900,
    },
  });
  const publicKey = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  return { token, publicKey: String(publicKey) };
}
