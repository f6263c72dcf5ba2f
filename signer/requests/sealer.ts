import { hash } from 'node:crypto';
import { encodeDerSignature } from '../protocol/ecdsa.ts';
import { EntryError, parseEntry } from '../protocol/entry.ts';
import type { Hsm } from '../hsm/hsm.ts';
import type { KeyDirectory, SigningKey } from '../hsm/key-directory.ts';
import type { Metrics } from '../metrics/metrics.ts';
import {
  maxEntryBytes,
  type EntryFault,
  type EntryToSeal,
  type SealResult,
} from '../protocol/protocol.ts';
import { SignerUnavailable } from '../protocol/signer-error.ts';
import type { Verifier } from './verifier.ts';

export type Sealer = ReturnType<typeof createSealer>;

interface SealerOptions {
  readonly hsm: Pick<Hsm, 'sign'>;
  readonly keys: Pick<KeyDirectory, 'load'>;
  readonly verifier: Pick<Verifier, 'verify'>;
  readonly metrics: Pick<Metrics, 'sealed' | 'refusedEntries' | 'unverified'>;
}

/**
 * Creates the function that seals entries with the audit key `keyId`: it hashes the entries by
 * SHA3-256, signs the hashes by ECDSA in the HSM, and verifies every signature in software. If a
 * text is not a valid entry, its result contains the fault. The whole batch fails with
 * SignerRefused if the key must not sign entries, and with SignerUnavailable if the HSM fails.
 */
export function createSealer({ hsm, keys, verifier, metrics }: SealerOptions) {
  return async (
    keyId: string,
    entries: readonly EntryToSeal[],
    signal: AbortSignal,
  ): Promise<SealResult[]> => {
    const key = await keys.load(keyId, 'audit');
    const outcomes = entries.map((entry) => hashEntry(entry));
    signal.throwIfAborted();
    const sound = outcomes.filter((outcome) => 'digest' in outcome);
    const signatures = (await sign(sound, key)).values();
    return outcomes.map((outcome) => {
      if ('digest' in outcome) {
        const { id, digest } = outcome;
        return { id, hash: digest.toString('hex'), signature: loadNext(signatures), keyId };
      }
      metrics.refusedEntries.inc({ fault: outcome.error });
      return outcome;
    });
  };

  /** Resolves with verified signatures in DER, base64, in the order of the entries. */
  async function sign(
    entries: readonly HashedEntry[],
    { keyId, publicKey }: SigningKey,
  ): Promise<string[]> {
    if (entries.length === 0) return [];
    const digests = entries.map(({ digest }) => digest);
    const compact = await hsm.sign(keyId, digests);
    const signatures = compact.map((each) => encodeDerSignature(each).toString('base64'));
    const texts = entries.map(({ text }) => text);
    if (!(await verifier.verify({ publicKey, texts, signatures }))) {
      metrics.unverified.inc({ purpose: 'audit' });
      throw new SignerUnavailable('hsm_unavailable', 'the HSM made an invalid signature');
    }
    metrics.sealed.inc(entries.length);
    return signatures;
  }
}

type HashedEntry = EntryToSeal & { digest: Buffer };

function hashEntry(
  entry: EntryToSeal,
): HashedEntry | { readonly id: string; readonly error: EntryFault } {
  const fault = findFault(entry);
  if (fault !== undefined) return { id: entry.id, error: fault };
  return { ...entry, digest: hash('sha3-256', entry.text, 'buffer') };
}

function loadNext(signatures: Iterator<string, undefined>): string {
  const { value } = signatures.next();
  if (value === undefined) throw new TypeError('an entry has no signature');
  return value;
}

function findFault({ id, text }: EntryToSeal): EntryFault | undefined {
  if (Buffer.byteLength(text) > maxEntryBytes) return 'too_large';
  try {
    return parseEntry(text).id === id ? undefined : 'id_mismatch';
  } catch (error) {
    if (error instanceof EntryError) return error.code;
    throw error;
  }
}
