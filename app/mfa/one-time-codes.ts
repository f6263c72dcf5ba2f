import { Secret, TOTP } from 'otpauth';

const digits = 6;
const periodSeconds = 30;
const algorithm = 'SHA1';
/** Codes of the step before and after the present one are accepted too (RFC 6238 §5.2). */
const window = 1;

/** Milliseconds of one time step, in which the same code is valid. */
export const stepMs = periodSeconds * 1000;

/** Names a secret in an authenticator app. */
export interface CodeLabel {
  /** The name of the vault. */
  readonly issuer: string;
  /** The name of the user's account. */
  readonly account: string;
}

/** Returns the secret, of 20 bytes, in Base32, as users type it. */
export function toBase32(secret: Buffer): string {
  return toSecret(secret).base32;
}

/** Returns the otpauth URI of a secret, which authenticator apps read from a QR code. */
export function toUri(secret: Buffer, { issuer, account }: CodeLabel): string {
  const totp = new TOTP({
    issuer,
    label: account,
    algorithm,
    digits,
    period: periodSeconds,
    secret: toSecret(secret),
  });
  return totp.toString();
}

/**
 * Returns the time step (RFC 6238 §4.2) whose code this is, out of the present one and its
 * neighbours; undefined if the code is none of them. Compares in constant time.
 */
export function findStep(secret: Buffer, code: string, now: Date): number | undefined {
  const timestamp = now.getTime();
  const delta = TOTP.validate({
    token: code,
    secret: toSecret(secret),
    algorithm,
    digits,
    period: periodSeconds,
    timestamp,
    window,
  });
  return delta === null ? undefined : Math.floor(timestamp / stepMs) + delta;
}

function toSecret(secret: Buffer): Secret {
  return new Secret({ buffer: new Uint8Array(secret).buffer });
}
