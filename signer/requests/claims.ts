import { z } from 'zod';
import { SignerRefused } from '../protocol/signer-error.ts';

const clockToleranceSeconds = 60;

const Text = z.string().min(1).max(2048);
const NumericDate = z.int().positive();

/** RFC 9068 §2.2; what a service adds of its own is its own affair. */
const AccessTokenClaims = z.looseObject({
  iss: Text,
  sub: Text,
  aud: z.union([Text, z.array(Text).min(1)]),
  exp: NumericDate,
  iat: NumericDate,
  jti: Text,
});

/** Shows that its subject proved who they are a moment ago. */
const ReauthTokenClaims = z.strictObject({
  iss: Text,
  sub: Text,
  aud: Text,
  exp: NumericDate,
  iat: NumericDate,
  jti: Text,
  purpose: z.literal('reauth'),
});

/** What the token key signs: each `typ` with its claims and longest life. */
const tokenTypes = {
  'at+jwt': { claims: AccessTokenClaims, maxLifetimeSeconds: 15 * 60 },
  'reauth+jwt': { claims: ReauthTokenClaims, maxLifetimeSeconds: 5 * 60 },
} as const;

type TokenType = keyof typeof tokenTypes;

/** Throws SignerRefused `not_permitted` unless the token key may sign such a token now. */
export function checkClaims(typ: string, claims: unknown, now: Date): TokenType {
  if (!isTokenType(typ)) throw refuse('this typ is not signed');
  const result = tokenTypes[typ].claims.safeParse(claims);
  if (!result.success) {
    const names = result.error.issues.map((issue) => issue.path.join('.'));
    throw refuse(`claims missing or malformed: ${names.join(', ')}`);
  }
  const { iat, exp } = result.data;
  if (exp <= iat || exp - iat > tokenTypes[typ].maxLifetimeSeconds)
    throw refuse('the lifetime is not permitted');
  if (Math.abs(iat - now.getTime() / 1000) > clockToleranceSeconds)
    throw refuse('iat is not the present time');
  return typ;
}

function isTokenType(typ: string): typ is TokenType {
  return Object.hasOwn(tokenTypes, typ);
}

function refuse(message: string): SignerRefused {
  return new SignerRefused('not_permitted', message);
}
