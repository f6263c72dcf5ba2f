import { constants, hash, randomBytes, verify } from 'node:crypto';
import { encodeDerSignature } from '../../protocol/ecdsa.ts';
import { SigningPurpose } from '../../protocol/protocol.ts';
import { formatKeyLabel } from '../keys/key-label.ts';
import { findKeysOf } from '../keys/key-objects.ts';
import {
  findEncryptionKey,
  findMacKey,
  findSharedLabels,
  sortSigningKeys,
  type MacKey,
  type SigningKey,
} from '../keys/keyring.ts';
import type { Session } from '../library/pkcs11.ts';
import { macBytes, macOf, signWith } from '../token/signatures.ts';
import { withToken, type TokenAccess } from './token-access.ts';

/** The result of a check; `problem` is undefined if it passed. */
interface Check {
  readonly name: string;
  readonly problem: string | undefined;
}

const sampleBytes = 32;
/** The label of the sample MAC. The signer refuses requests for the MAC of this label. */
const sampleLabel = 'self-test';

/**
 * Logs in, signs and verifies with every audit and token key, and computes a MAC with each kind
 * of MAC key. Resolves with the
 * result of each check.
 */
export async function testToken(access: TokenAccess): Promise<Check[]> {
  const checks: Check[] = [];
  const session = await attempt('log in', () =>
    withToken(access, async (session) => {
      for (const purpose of SigningPurpose.options) {
        checks.push(...(await testSigningKeys(session, purpose)));
      }
      checks.push(await attempt('mac', () => testMac(session, findMacKey(session))));
      checks.push(await attempt('encryption', () => testMac(session, findEncryptionKey(session))));
    }),
  );
  return [session, ...checks];
}

async function testSigningKeys(session: Session, purpose: SigningPurpose): Promise<Check[]> {
  const keys = findKeysOf(session, purpose);
  if (keys.length === 0) return [{ name: purpose, problem: `the token holds no ${purpose} key` }];
  const shared = findSharedLabels(keys);
  const { used, unadopted } = sortSigningKeys(session);
  const checks: Check[] = [];
  for (const key of keys) {
    const label = formatKeyLabel(purpose, key.generation);
    checks.push(
      await attempt(label, async () => {
        if (shared.has(label)) throw new Error('more than one key has this label');
        if (unadopted.some((each) => each.handle.equals(key.handle)))
          throw new Error('the token did not generate this key, and nobody adopted it');
        const own = used.find((each) => each.handle.equals(key.handle));
        if (own === undefined)
          throw new Error('the token does not hold exactly one public key for this key');
        await testSignature(session, own);
      }),
    );
  }
  return checks;
}

async function testSignature(session: Session, key: SigningKey): Promise<void> {
  const valid =
    key.purpose === 'audit' ? await signsEntry(session, key) : await signsToken(session, key);
  if (!valid) throw new Error('a signature of the key does not verify with its public key');
}

async function signsEntry(session: Session, key: SigningKey): Promise<boolean> {
  const text = randomBytes(sampleBytes);
  const compact = await signWith(session, key, hash('sha3-256', text, 'buffer'));
  return verify('sha3-256', text, key.publicKey, encodeDerSignature(compact));
}

async function signsToken(session: Session, key: SigningKey): Promise<boolean> {
  const text = randomBytes(sampleBytes);
  const signature = await signWith(session, key, text);
  const options = { key: key.publicKey, padding: constants.RSA_PKCS1_PADDING };
  return verify('sha256', text, options, signature);
}

async function testMac(session: Session, key: MacKey): Promise<void> {
  const mac = await macOf(session, key, sampleLabel);
  if (mac.length !== macBytes)
    throw new Error(`the MAC has ${mac.length} bytes instead of ${macBytes}`);
}

async function attempt(name: string, run: () => Promise<void>): Promise<Check> {
  try {
    await run();
    return { name, problem: undefined };
  } catch (error) {
    return { name, problem: error instanceof Error ? error.message : String(error) };
  }
}
