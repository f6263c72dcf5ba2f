import { constants, verify, type KeyObject } from 'node:crypto';
import { checkClaims } from './claims.ts';
import type { Hsm } from '../hsm/hsm.ts';
import type { KeyDirectory } from '../hsm/key-directory.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { TokenRequest } from '../protocol/protocol.ts';
import { SignerUnavailable } from '../protocol/signer-error.ts';

export type TokenSigner = (request: TokenRequest) => Promise<string>;

type TokenSignerOptions = {
  hsm: Pick<Hsm, 'sign'>;
  keys: Pick<KeyDirectory, 'load'>;
  metrics: Pick<Metrics, 'tokensSigned' | 'unverified'>;
  clock: () => Date;
};

/**
 * Signs compact JWS tokens (RFC 7515) with RS256; `kid` is the key id. Throws SignerRefused
 * `not_permitted` for what a token key must not sign, SignerUnavailable when the HSM fails.
 */
export function createTokenSigner({ hsm, keys, metrics, clock }: TokenSignerOptions): TokenSigner {
  return async ({ keyId, typ: requestedTyp, claims }) => {
    const typ = checkClaims(requestedTyp, claims, clock());
    const { publicKey } = await keys.load(keyId, 'token');
    const input = `${encodePart({ alg: 'RS256', kid: keyId, typ })}.${encodePart(claims)}`;
    const [signature] = await hsm.sign(keyId, [Buffer.from(input)]);
    if (!signature || !verifyRs256(input, publicKey, signature)) {
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

function verifyRs256(input: string, key: KeyObject, signature: Buffer): boolean {
  const options = { key, padding: constants.RSA_PKCS1_PADDING };
  return verify('sha256', Buffer.from(input), options, signature);
}
