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

/** Seals by the audit key of that id. */
export type Sealer = (
  keyId: string,
  entries: readonly EntryToSeal[],
  signal: AbortSignal,
) => Promise<SealResult[]>;

type SealerOptions = {
  hsm: Pick<Hsm, 'sign'>;
  keys: Pick<KeyDirectory, 'load'>;
  verifier: Pick<Verifier, 'verify'>;
  metrics: Pick<Metrics, 'sealed' | 'refusedEntries' | 'unverified'>;
};

/**
 * Seals entries: SHA3-256, ECDSA in the HSM, verified in software before it is answered. A text
 * that is no entry gets its fault as its result; a key that must not sign entries (SignerRefused)
 * and a failure of the HSM (SignerUnavailable) fail them all.
 */
export function createSealer({ hsm, keys, verifier, metrics }: SealerOptions): Sealer {
  return async (keyId, entries, signal) => {
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

  /** DER, base64, verified. */
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
      throw new SignerUnavailable('hsm_unavailable', 'the HSM made a signature that is not valid');
    }
    metrics.sealed.inc(entries.length);
    return signatures;
  }
}

type HashedEntry = EntryToSeal & { digest: Buffer };

function hashEntry(entry: EntryToSeal): HashedEntry | { id: string; error: EntryFault } {
  const fault = findFault(entry);
  if (fault) return { id: entry.id, error: fault };
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
