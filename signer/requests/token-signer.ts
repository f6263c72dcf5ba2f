import { constants, verify, type KeyObject } from 'node:crypto';
import { checkClaims } from './signable-claims.ts';
import type { Hsm } from '../hsm/hsm.ts';
import type { KeyDirectory } from '../hsm/key-directory.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { TokenRequest } from '../protocol/protocol.ts';
import type { TokenLimits } from './token-limits.ts';
import { SignerUnavailable } from '../protocol/signer-error.ts';

export type TokenSigner = ReturnType<typeof createTokenSigner>;

interface TokenSignerOptions {
  readonly hsm: Pick<Hsm, 'sign'>;
  readonly keys: Pick<KeyDirectory, 'load'>;
  readonly metrics: Pick<Metrics, 'tokensSigned' | 'unverified'>;
  /** The URLs of the vaults whose tokens are signed. */
  readonly issuers: readonly string[];
  readonly clock: () => Date;
  readonly limits: TokenLimits;
}

/**
 * Creates the function that signs compact JWS tokens (RFC 7515) with RS256; `kid` is the key id. It
 * throws SignerRefused `not_permitted` for claims that a token key must not sign, and
 * SignerUnavailable `wrong_issuer` or `clock_skew` for those of another vault or time, `busy` above
 * a limit, or if the HSM fails.
 */
export function createTokenSigner(options: TokenSignerOptions) {
  const { hsm, keys, metrics, issuers, clock, limits } = options;
  return async ({ keyId, typ: requestedTyp, claims }: TokenRequest): Promise<string> => {
    const { typ, sub } = checkClaims(requestedTyp, claims, { now: clock(), issuers });
    await limits(sub);
    const { publicKey } = await keys.load(keyId, 'token');
    const input = `${encodePart({ alg: 'RS256', kid: keyId, typ })}.${encodePart(claims)}`;
    const [signature] = await hsm.sign(keyId, [Buffer.from(input)]);
    if (signature === undefined || !verifyRs256(input, publicKey, signature)) {
      metrics.unverified.add({ purpose: 'token' });
      throw new SignerUnavailable('hsm_unavailable', 'the HSM made an invalid signature');
    }
    metrics.tokensSigned.add({ typ });
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
