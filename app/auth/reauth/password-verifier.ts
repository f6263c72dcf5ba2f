import { argon2, createHash, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '../../errors/app-error.ts';
import { generator } from '../../srp/group.ts';
import { exponentKey, powerBytes } from '../../srp/modular-power.ts';
import { srpParams } from '../login/srp-params.ts';

/**
 * Does with a password what the clients of accounts made here do (docs/formats.md, "Keys from a
 * password" and "SRP-6a"). Every buffer derived from it is zeroed; the string itself cannot be.
 */
export interface PasswordVerifier {
  /**
   * Whether the verifier was made of this password and salt (both hex). Throws reauth_busy while two
   * others are checked in this process: each takes 64 MiB and a thread.
   */
  matches(password: string, of: { salt: string; verifier: string }): Promise<boolean>;
}

const { kdf } = srpParams;
const nonceBytes = 16;
const argon2id = {
  memory: kdf.memoryKiB,
  passes: kdf.iterations,
  parallelism: kdf.parallelism,
  tagLength: kdf.outputBytes,
};
const atOnce = 2;

export function createPasswordVerifier(): PasswordVerifier {
  let running = 0;
  return {
    async matches(password, { salt, verifier }) {
      if (running >= atOnce) throw new AppError('reauth_busy', { retryAfterSeconds: 1 });
      running += 1;
      try {
        const made = await makeVerifier(password, Buffer.from(salt, 'hex'));
        const isEqual = timingSafeEqual(made, Buffer.from(verifier, 'hex'));
        made.fill(0);
        return isEqual;
      } finally {
        running -= 1;
      }
    },
  };
}

/** v = g^x mod N with x = H(salt ‖ K_auth), 384 bytes. */
async function makeVerifier(password: string, salt: Buffer): Promise<Buffer> {
  const authKey = await deriveAuthKey(password, salt);
  const x = createHash('sha3-256').update(salt).update(authKey).digest();
  authKey.fill(0);
  const exponent = exponentKey(x);
  x.fill(0);
  return powerBytes(generator, exponent);
}

async function deriveAuthKey(password: string, salt: Buffer): Promise<Buffer> {
  const context = createHash('sha3-256')
    .update(kdf.context)
    .update(Buffer.of(0))
    .update(salt)
    .digest();
  const message = Buffer.from(password.normalize('NFKC'), 'utf8');
  try {
    return await deriveKey({ ...argon2id, message, nonce: context.subarray(0, nonceBytes) });
  } finally {
    message.fill(0);
  }
}

const deriveKey = promisify(
  (parameters: Argon2Parameters, done: (error: Error | null, key: Buffer) => void) =>
    argon2(kdf.name, parameters, done),
);
