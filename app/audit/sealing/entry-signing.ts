import type { SignerClient } from '../../../signer/protocol/client.ts';
import type { EntryToSeal, Seal, SealResult } from '../../../signer/protocol/protocol.ts';
import { SignerRefused, SignerUnavailable } from '../../../signer/protocol/signer-error.ts';

/** An entry that one process has leased for sealing. */
export interface ClaimedEntry {
  readonly id: string;
  /** The canonical text; null if it is larger than the signer accepts. */
  readonly text: string | null;
}

/** The reason in an entry itself why it could not be sealed. */
export interface SealFault {
  readonly id: string;
  readonly reason: string;
}

export interface Signed {
  readonly seals: readonly Seal[];
  readonly faults: readonly SealFault[];
}

export interface EntrySigning {
  /**
   * Signs the entries; resolves with their seals and faults. If the signer fails on a batch as a
   * whole, the batch is halved until the entry that causes it stands alone. Throws
   * SignerUnavailable or SignerRefused if the signer fails for another reason, or if it has sealed
   * nothing since it last failed on a single entry, so that the entry may not be the cause.
   */
  sign(keyId: string, entries: readonly ClaimedEntry[]): Promise<Signed>;
}

/** Codes of failures that an entry may cause. Signer or HSM cause all others. */
const doubtful: ReadonlySet<string> = new Set([
  'bad_response',
  'internal_error',
  'invalid_request',
  'payload_too_large',
]);

/** Codes of failures to connect, by which the signer never received the entries. */
const unheard: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOENT', 'EACCES']);

interface Suspect extends SealFault {
  readonly error: Error;
}

export function createEntrySigning(signer: Pick<SignerClient, 'seal'>): EntrySigning {
  /**
   * Whether the signer has sealed anything since it last failed on a single entry. If not, the
   * signer may as well be broken, which must not use up the attempts of entries.
   */
  let hasSealedSince = false;

  async function seal(keyId: string, entries: readonly EntryToSeal[]): Promise<SealResult[]> {
    const results = await signer.seal(keyId, entries);
    if (!areOf(results, entries, keyId)) {
      throw new SignerUnavailable(
        'bad_response',
        'the response of the signer is for other entries',
      );
    }
    hasSealedSince ||= results.some(isSeal);
    return results;
  }

  /** Seals entries, and adds those on which the signer fails alone to `suspects`. */
  async function sealHalving(
    keyId: string,
    entries: readonly EntryToSeal[],
    suspects: Suspect[],
  ): Promise<SealResult[]> {
    const [first] = entries;
    if (first === undefined) return [];
    try {
      return await seal(keyId, entries);
    } catch (error) {
      if (!isDoubtful(error)) throw error;
      if (entries.length === 1) {
        suspects.push({ id: first.id, reason: error.code, error });
        return [];
      }
      const middle = Math.ceil(entries.length / 2);
      const head = await sealHalving(keyId, entries.slice(0, middle), suspects);
      return [...head, ...(await sealHalving(keyId, entries.slice(middle), suspects))];
    }
  }

  return {
    async sign(keyId, entries) {
      const suspects: Suspect[] = [];
      const results = await sealHalving(keyId, entries.flatMap(toSend), suspects);
      const [suspect] = suspects;
      if (suspect !== undefined) {
        const isToBlame = hasSealedSince;
        hasSealedSince = false;
        if (!isToBlame) throw suspect.error;
      }
      return {
        seals: results.filter(isSeal),
        faults: [
          ...entries.filter(({ text }) => text === null).map(({ id }) => tooLarge(id)),
          ...results.flatMap((result) => (isSeal(result) ? [] : [toFault(result)])),
          ...suspects.map(({ id, reason }) => ({ id, reason })),
        ],
      };
    },
  };
}

/**
 * Returns the fault that the signer would report, without loading and sending a text of any size.
 */
function tooLarge(id: string): SealFault {
  return { id, reason: 'too_large' };
}

function toFault({ id, error }: Exclude<SealResult, Seal>): SealFault {
  return { id, reason: error };
}

function toSend({ id, text }: ClaimedEntry): EntryToSeal[] {
  return text === null ? [] : [{ id, text }];
}

function isSeal(result: SealResult): result is Seal {
  return !('error' in result);
}

function isDoubtful(error: unknown): error is SignerRefused | SignerUnavailable {
  const isSigners = error instanceof SignerRefused || error instanceof SignerUnavailable;
  return isSigners && doubtful.has(error.code);
}

/**
 * Tells whether the entries may be the cause of a failure: the signer hung, died or refused them.
 * They are not if the signer, or its HSM as it reported, was away.
 */
export function mayBeToBlame(error: unknown): boolean {
  if (!(error instanceof SignerUnavailable)) return isDoubtful(error);
  const isCutOff = error.code === 'unreachable' && !unheard.has(codeOf(error.cause));
  return isCutOff || error.code === 'timeout' || isDoubtful(error);
}

function codeOf(cause: unknown): unknown {
  return cause instanceof Error && 'code' in cause ? cause.code : undefined;
}

function areOf(
  results: readonly SealResult[],
  entries: readonly EntryToSeal[],
  keyId: string,
): boolean {
  const isAnswer = (result: SealResult, index: number) =>
    result.id === entries[index]?.id && (!isSeal(result) || result.keyId === keyId);
  return results.length === entries.length && results.every(isAnswer);
}
