import { argon2, createHash, timingSafeEqual, type Argon2Parameters } from 'node:crypto';
import { promisify } from 'node:util';
import { generator } from '../../srp/group.ts';
import { power } from '../../srp/modular-power.ts';
import { srpParams } from '../login/srp-params.ts';

/** Credentials to check a password against: salt and verifier in hex. */
interface Checked {
  readonly salt: string;
  readonly verifier: string;
}

const { kdf } = srpParams;
const nonceBytes = 16;
const argon2id = {
  memory: kdf.memoryKiB,
  passes: kdf.iterations,
  parallelism: kdf.parallelism,
  tagLength: kdf.outputBytes,
};

/**
 * Resolves with whether the verifier was made from this password and salt, in the way in which the
 * clients of the vault's own accounts make it (docs/formats.md, "Keys from a password" and
 * "SRP-6a"). Takes 64 MiB and a thread. Zeroes every buffer that is derived from the password; the
 * string itself cannot be erased.
 */
export async function matchesVerifier(
  password: string,
  { salt, verifier }: Checked,
): Promise<boolean> {
  const made = await makeVerifier(password, Buffer.from(salt, 'hex'));
  try {
    return timingSafeEqual(made, Buffer.from(verifier, 'hex'));
  } finally {
    made.fill(0);
  }
}

/** Returns v = g^x mod N with x = SHA3-256(salt ‖ K_auth): 384 bytes big-endian. */
async function makeVerifier(password: string, salt: Buffer): Promise<Buffer> {
  const authKey = await deriveAuthKey(password, salt);
  const x = createHash('sha3-256').update(salt).update(authKey).digest();
  authKey.fill(0);
  try {
    return power(generator, x);
  } finally {
    x.fill(0);
  }
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
