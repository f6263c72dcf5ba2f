import { createPublicKey, randomUUID, type JsonWebKey } from 'node:crypto';
import { createSignerClient } from '../../../signer/protocol/client.ts';
import { standardClaims } from '../../support/accounts/trusted-key.ts';
import type { SingleVault } from '../../support/processes/vault-processes.ts';
import { headersOf, insertPeople, withClient } from '../sync/people.ts';

interface SignedIn {
  /** The headers of the person's requests. */
  readonly headers: Record<string, string>;
  /** The PEM of the key that signed the token. */
  readonly publicKey: string;
}

/**
 * Inserts a person, for whom the vault's own signer issues an access token, which is valid for 15
 * minutes.
 */
export async function signIn(
  { baseUrl, signerSocketPath, databases }: SingleVault,
  auth: { readonly issuer: string; readonly audience: string },
): Promise<SignedIn> {
  const [person] = await withClient(databases.service, (client) => insertPeople(client, 1));
  if (person === undefined) throw new Error('a person should have been inserted');
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
      sub: person.userId,
      sid: person.sessionId,
      iat,
      exp: iat + 900,
    },
  });
  const publicKey = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  return { headers: headersOf(token, person), publicKey: String(publicKey) };
}
