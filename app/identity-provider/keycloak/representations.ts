import { createHash } from 'node:crypto';
import { Secret } from 'otpauth';
import { z } from 'zod';
import type { NewFactors, SecondFactors } from '../identity-provider.ts';
import { ProviderFailure } from './provider-failure.ts';

/** The number of recovery codes that were not used yet, as Keycloak counts them. */
const CodesData = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue({ code: 'custom', message: 'is not JSON' });
      return z.NEVER;
    }
  })
  .pipe(z.object({ remainingCodes: z.int().min(0) }));

const Credential = z.object({
  id: z.string(),
  type: z.string(),
  createdDate: z.int().optional(),
  credentialData: z.string().optional(),
});

export const Credentials = z.array(Credential);
export const Token = z.object({ access_token: z.string(), expires_in: z.number().positive() });
/** A session that a password opened. Keycloak gives a refresh token, with which it is ended. */
export const PasswordSession = z.object({ access_token: z.string(), refresh_token: z.string() });
export const TokenRefusal = z.object({ error: z.string() });
export const User = z.object({
  id: z.string(),
  username: z.string(),
  email: z.string().optional(),
});
export const Users = z.array(User);

/** Parses the body of a response. Throws ProviderFailure, without what the body holds. */
export function parseAnswer<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path, code }) => `${path.join('.')}: ${code}`);
  throw new ProviderFailure(
    `the response of the identity provider is not as expected: ${fields.join(', ')}`,
    { isPassing: false },
  );
}

/** Returns the second factors among the credentials of a user, which also hold the password. */
export function toSecondFactors(body: unknown): SecondFactors {
  const credentials = parseAnswer(Credentials, body);
  const ofType = (wanted: string) => credentials.filter(({ type }) => type === wanted);
  return {
    totps: ofType('otp').map(({ id, createdDate = 0 }) => ({
      id,
      createdAt: new Date(createdDate),
    })),
    recoveryCodes: ofType('recovery-authn-codes').map(({ id, credentialData }) => ({
      id,
      remaining: parseAnswer(CodesData, credentialData).remainingCodes,
    })),
  };
}

/**
 * Returns the part of a user's representation that sets these second factors. It holds nothing
 * else: Keycloak erases members that stand beside `attributes` and are missing.
 */
export function toRepresentation({ totp, recoveryCodes }: NewFactors, now: Date): object {
  const createdDate = now.getTime();
  const { id, codes } = recoveryCodes;
  const codesCredential = {
    id,
    type: 'recovery-authn-codes',
    createdDate,
    secretData: JSON.stringify({
      codes: codes.map((code, index) => ({ number: index + 1, encodedHashedValue: hash(code) })),
    }),
    credentialData: JSON.stringify({
      algorithm: 'SHA-512',
      totalCodes: codes.length,
      remainingCodes: codes.length,
    }),
  };
  const others = totp === undefined ? [] : [toOtpCredential(totp, createdDate)];
  return { credentials: [...others, codesCredential] };
}

function toOtpCredential(
  { id, label, secret }: NonNullable<NewFactors['totp']>,
  createdDate: number,
): object {
  const copy = new Uint8Array(secret);
  const value = new Secret({ buffer: copy.buffer }).base32;
  copy.fill(0);
  return {
    id,
    type: 'otp',
    userLabel: label,
    createdDate,
    secretData: JSON.stringify({ value }),
    credentialData: JSON.stringify({
      subType: 'totp',
      digits: 6,
      counter: 0,
      period: 30,
      algorithm: 'HmacSHA1',
      secretEncoding: 'BASE32',
    }),
  };
}

function hash(code: string): string {
  return createHash('sha512').update(code).digest('base64');
}
