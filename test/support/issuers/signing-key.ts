import {
  generateKeyPair as generateKeyPairCallback,
  randomUUID,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { SignJWT, type JWK, type JWTPayload } from 'jose';

const generateKeyPair = promisify(generateKeyPairCallback);

/** A key with which an issuer signs tokens. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** The public key in the format of a key set. */
  readonly jwk: JWK;
  /**
   * Signs a token with RS256, `kid` and no `typ`, except for what `header` changes; a name set to
   * undefined is left out.
   */
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
}

export async function createSigningKey(modulusLength = 2048): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('rsa', { modulusLength });
  const kid = randomUUID();
  return {
    kid,
    privateKey,
    publicKey,
    jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' },
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(privateKey),
  };
}
