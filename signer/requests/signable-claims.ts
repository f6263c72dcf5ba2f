import { z } from 'zod';
import { SignerRefused, SignerUnavailable } from '../protocol/signer-error.ts';

const clockToleranceSeconds = 60;

const Text = z.string().min(1).max(2048);
const NumericDate = z.int().positive();

/** Claims of an access token (RFC 9068 §2.2). A service may add claims of its own. */
const AccessTokenClaims = z.looseObject({
  iss: Text,
  sub: Text,
  aud: z.union([Text, z.array(Text).min(1)]),
  exp: NumericDate,
  iat: NumericDate,
  jti: Text,
});

/** Claims of a reauthentication token, which shows that its subject has just reauthenticated. */
const ReauthTokenClaims = z.strictObject({
  iss: Text,
  sub: Text,
  aud: Text,
  exp: NumericDate,
  iat: NumericDate,
  jti: Text,
  purpose: z.literal('reauth'),
});

/** Each `typ` that the token key signs, with its claims and longest lifetime. */
const tokenTypes = {
  'at+jwt': { claims: AccessTokenClaims, maxLifetimeSeconds: 15 * 60 },
  'reauth+jwt': { claims: ReauthTokenClaims, maxLifetimeSeconds: 5 * 60 },
} as const;

type TokenType = keyof typeof tokenTypes;

interface SignableToken {
  readonly typ: TokenType;
  /** The user. */
  readonly sub: string;
}

interface Circumstances {
  readonly now: Date;
  /** The URLs of the vaults whose tokens are signed. */
  readonly issuers: readonly string[];
}

/**
 * Returns the type and the user of a token. Throws SignerRefused `not_permitted` unless the token
 * key may sign these claims, and SignerUnavailable: `wrong_issuer` if `iss` is none of the issuers,
 * `clock_skew` if `iat` is not the present time.
 */
export function checkClaims(
  typ: string,
  claims: unknown,
  { now, issuers }: Circumstances,
): SignableToken {
  if (!isTokenType(typ)) throw refuse('tokens of this typ are not signed');
  const result = tokenTypes[typ].claims.safeParse(claims);
  if (!result.success) {
    const names = result.error.issues.map((issue) => issue.path.join('.'));
    throw refuse(`claims missing, malformed or not allowed: ${names.join(', ')}`);
  }
  const { iss, sub, iat, exp } = result.data;
  if (!issuers.includes(iss))
    throw new SignerUnavailable('wrong_issuer', 'SIGNER_ISSUERS does not have this iss');
  if (exp <= iat || exp - iat > tokenTypes[typ].maxLifetimeSeconds)
    throw refuse('exp must be after iat, within the longest lifetime of this typ');
  if (Math.abs(iat - now.getTime() / 1000) > clockToleranceSeconds)
    throw new SignerUnavailable('clock_skew', 'iat differs by over 60 s from the signer’s clock');
  return { typ, sub };
}

function isTokenType(typ: string): typ is TokenType {
  return Object.hasOwn(tokenTypes, typ);
}

function refuse(message: string): SignerRefused {
  return new SignerRefused('not_permitted', message);
}
