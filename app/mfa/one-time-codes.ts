import { Secret, TOTP } from 'otpauth';

const digits = 6;
const periodSeconds = 30;
const algorithm = 'SHA1';
/** Codes of the step before and after the present one are accepted too (RFC 6238 §5.2). */
const window = 1;

/** Milliseconds of one time step, in which the same code is valid. */
const stepMs = periodSeconds * 1000;

/** Names a secret in an authenticator app. */
export interface CodeLabel {
  /** The name of the vault. */
  readonly issuer: string;
  /** The name of the user's account. */
  readonly account: string;
}

/** Returns the secret, of 20 bytes, in Base32, as users type it. */
export function toBase32(secret: Buffer): string {
  return withSecret(secret, ({ base32 }) => base32);
}

/** Returns the otpauth URI of a secret, which authenticator apps read from a QR code. */
export function toUri(secret: Buffer, { issuer, account: label }: CodeLabel): string {
  const options = { issuer, label, algorithm, digits, period: periodSeconds };
  return withSecret(secret, (own) => new TOTP({ ...options, secret: own }).toString());
}

/**
 * Returns the time step (RFC 6238 §4.2) whose code this is, out of the present one and its
 * neighbours; undefined if the code is none of them. Compares in constant time.
 */
export function findStep(secret: Buffer, code: string, now: Date): number | undefined {
  const timestamp = now.getTime();
  const options = { token: code, algorithm, digits, period: periodSeconds, timestamp, window };
  const delta = withSecret(secret, (own) => TOTP.validate({ ...options, secret: own }));
  return delta === null ? undefined : Math.floor(timestamp / stepMs) + delta;
}

/** Calls `use` with a copy of the secret in the form of the library, and zeroes the copy. */
function withSecret<T>(secret: Buffer, use: (secret: Secret) => T): T {
  const copy = new Uint8Array(secret);
  try {
    return use(new Secret({ buffer: copy.buffer }));
  } finally {
    copy.fill(0);
  }
}
