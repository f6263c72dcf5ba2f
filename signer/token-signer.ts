import { constants, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { checkClaims } from './claims.ts';
import type { Hsm } from './hsm.ts';
import type { SigningKey } from './keyring.ts';
import type { Metrics } from './metrics.ts';
import { CKM_SHA256_RSA_PKCS } from './pkcs11.ts';
import type { Session } from './pkcs11.ts';
import type { TokenRequest } from './protocol.ts';
import { SignerUnavailable } from './signer-error.ts';

export type TokenSigner = (request: TokenRequest) => Promise<string>;

export type TokenSignerOptions = {
  hsm: Pick<Hsm, 'run'>;
  metrics: Pick<Metrics, 'tokensSigned' | 'unverified'>;
  clock: () => Date;
};

/**
 * Signs compact JWS tokens (RFC 7515) with RS256; `kid` is the key id. Throws SignerRefused
 * `not_permitted` for what the token key must not sign, SignerUnavailable when the HSM fails.
 */
export function createTokenSigner({ hsm, metrics, clock }: TokenSignerOptions): TokenSigner {
  return async ({ typ: requestedTyp, claims }) => {
    const typ = checkClaims(requestedTyp, claims, clock());
    const payload = encodePart(claims);
    const { input, signature, key } = await hsm.run(async (session, { token }) => {
      const input = `${encodePart({ alg: 'RS256', kid: token.keyId, typ })}.${payload}`;
      return { input, signature: await sign(session, token, input), key: token };
    });
    if (!verifyRs256(input, key.publicKey, signature)) {
      metrics.unverified.inc({ purpose: 'token' });
      throw new SignerUnavailable('hsm_unavailable', 'the HSM made a signature that is not valid');
    }
    metrics.tokensSigned.inc({ typ });
    return `${input}.${signature.toString('base64url')}`;
  };
}

function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function sign(session: Session, key: SigningKey, input: string): Promise<Buffer> {
  const modulusBits = key.publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
  return session.sign(CKM_SHA256_RSA_PKCS, key.handle, Buffer.from(input), modulusBits / 8);
}

function verifyRs256(input: string, key: KeyObject, signature: Buffer): boolean {
  const options = { key, padding: constants.RSA_PKCS1_PADDING };
  return verify('sha256', Buffer.from(input), options, signature);
}
