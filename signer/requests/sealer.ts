import { hash } from 'node:crypto';
import { encodeDerSignature } from '../protocol/ecdsa.ts';
import { EntryError, parseEntry, type AuditEntry } from '../protocol/entry.ts';
import { toSealedText, type SealMembers } from '../protocol/sealed-text.ts';
import type { Hsm } from '../hsm/hsm.ts';
import type { KeyDirectory, SigningKey } from '../hsm/key-directory.ts';
import type { Metrics } from '../metrics/metrics.ts';
import {
  maxEntryBytes,
  type EntryFault,
  type EntryToSeal,
  type SealResult,
} from '../protocol/protocol.ts';
import { isKeyAction, markAction } from '../protocol/reserved-actions.ts';
import { SignerUnavailable } from '../protocol/signer-error.ts';
import type { Verifier } from './verifier.ts';

export type Sealer = ReturnType<typeof createSealer>;

/** Returns why an entry must not be sealed by a request; undefined if it may be. */
export type EntryCheck = (entry: AuditEntry) => EntryFault | undefined;

interface SealerOptions {
  readonly hsm: Pick<Hsm, 'sign'>;
  readonly keys: Pick<KeyDirectory, 'load'>;
  readonly verifier: Pick<Verifier, 'verify'>;
  readonly metrics: Pick<Metrics, 'sealed' | 'refusedEntries' | 'unverified'>;
  /** The URLs of the vaults whose entries are sealed. */
  readonly issuers: readonly string[];
  readonly clock: () => Date;
}

/** Milliseconds by which the vault's clock may be ahead of the signer's. */
const maxAheadMs = 60_000;
/** Milliseconds after which the seal of an entry counts as late. */
const lateMs = 10 * 60_000;

/**
 * Creates the function that seals entries with the audit key `keyId`: it adds the time by the
 * signer's clock to the entries, hashes them by SHA3-256, signs the hashes by ECDSA in the HSM, and
 * verifies every signature in software. If an entry must not be sealed, its result contains the
 * fault. `check` decides which entries the request may seal; by default all but those that have
 * requests of their own. The whole batch fails with SignerRefused if the key must not sign entries,
 * and with SignerUnavailable if the HSM fails.
 */
export function createSealer(options: SealerOptions) {
  const { hsm, keys, verifier, metrics, issuers, clock } = options;

  return async (
    keyId: string,
    entries: readonly EntryToSeal[],
    signal: AbortSignal,
    check: EntryCheck = checkOrdinary,
  ): Promise<SealResult[]> => {
    const key = await keys.load(keyId, 'audit');
    const now = clock();
    const outcomes = entries.map((entry) => hashEntry(entry, { now, issuers, check }));
    signal.throwIfAborted();
    const sound = outcomes.filter((outcome) => 'digest' in outcome);
    const signatures = (await sign(sound, key)).values();
    return outcomes.map((outcome) => {
      if ('digest' in outcome) {
        const { id, digest, members } = outcome;
        const { sealedAt, late } = members;
        const hash = digest.toString('hex');
        return { id, sealedAt, late, hash, signature: loadNext(signatures), keyId };
      }
      metrics.refusedEntries.add({ fault: outcome.error });
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
      metrics.unverified.add({ purpose: 'audit' });
      throw new SignerUnavailable('hsm_unavailable', 'the HSM made an invalid signature');
    }
    metrics.sealed.add({}, entries.length);
    return signatures;
  }
}

interface HashedEntry {
  readonly id: string;
  /** The text with the members that the signer adds. */
  readonly text: string;
  readonly members: SealMembers;
  readonly digest: Buffer;
}

interface Circumstances {
  readonly now: Date;
  readonly issuers: readonly string[];
  readonly check: EntryCheck;
}

function checkOrdinary({ action }: AuditEntry): EntryFault | undefined {
  return isKeyAction(action) || action === markAction ? 'reserved_action' : undefined;
}

function hashEntry(
  { id, text }: EntryToSeal,
  circumstances: Circumstances,
): HashedEntry | { readonly id: string; readonly error: EntryFault } {
  const entry = parse(text);
  if (typeof entry === 'string') return { id, error: entry };
  const fault = findFault(id, entry, circumstances);
  if (fault !== undefined) return { id, error: fault };
  const { now } = circumstances;
  const late = now.getTime() - Date.parse(entry.timestamp) > lateMs;
  const members = { sealedAt: now.toISOString(), late };
  const sealed = toSealedText(text, entry, members);
  return { id, text: sealed, members, digest: hash('sha3-256', sealed, 'buffer') };
}

function loadNext(signatures: Iterator<string, undefined>): string {
  const { value } = signatures.next();
  if (value === undefined) throw new TypeError('an entry has no signature');
  return value;
}

/** Parses the text of an entry, or returns its fault. */
function parse(text: string): AuditEntry | EntryFault {
  if (Buffer.byteLength(text) > maxEntryBytes) return 'too_large';
  try {
    return parseEntry(text);
  } catch (error) {
    if (error instanceof EntryError) return error.code;
    throw error;
  }
}

function findFault(
  id: string,
  entry: AuditEntry,
  { now, issuers, check }: Circumstances,
): EntryFault | undefined {
  if (entry.id !== id) return 'id_mismatch';
  if (!issuers.includes(entry.issuer)) return 'wrong_issuer';
  const aheadMs = Date.parse(entry.timestamp) - now.getTime();
  return aheadMs > maxAheadMs ? 'future_timestamp' : check(entry);
}
