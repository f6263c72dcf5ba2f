import type { SignerClient } from '../../../signer/protocol/client.ts';
import type { EntryToSeal, Seal, SealResult } from '../../../signer/protocol/protocol.ts';
import { SignerRefused, SignerUnavailable } from '../../../signer/protocol/signer-error.ts';

/** An entry under a lease. */
export interface ClaimedEntry {
  readonly id: string;
  /** Null where it is larger than the signer takes. */
  readonly text: string | null;
}

/** Why an entry was not sealed, for its own sake. */
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
   * Seals and faults of all the entries. Where the signer fails over a batch as a whole, the batch is
   * halved until what it fails over stands alone. Throws SignerUnavailable or SignerRefused where it
   * fails for other reasons than an entry, or where nothing shows that others would fare better.
   */
  sign(keyId: string, entries: readonly ClaimedEntry[]): Promise<Signed>;
}

/** Failures that an entry may cause. All others are the signer's or the HSM's own. */
const doubtful: ReadonlySet<string> = new Set([
  'bad_response',
  'internal_error',
  'invalid_request',
  'payload_too_large',
]);

/** Failures to reach a signer that never saw the entries. */
const unheard: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOENT', 'EACCES']);

interface Suspect extends SealFault {
  readonly error: Error;
}

export function createEntrySigning(signer: Pick<SignerClient, 'seal'>): EntrySigning {
  /**
   * Whether the signer has sealed anything since it last failed over an entry alone. If not, it is as
   * likely the signer that is broken, and entries are not to lose their attempts by that.
   */
  let hasSealedSince = false;

  async function seal(keyId: string, entries: readonly EntryToSeal[]): Promise<SealResult[]> {
    const results = await signer.seal(keyId, entries);
    if (!areOf(results, entries, keyId)) {
      throw new SignerUnavailable('bad_response', 'the signer answered for other entries');
    }
    hasSealedSince ||= results.some(isSeal);
    return results;
  }

  /** Adds those that it fails over alone to `suspects`. */
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

/** What the signer would say itself; but a text without limits is not to be loaded and sent. */
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
 * Whether the entries may be why: the signer hung or died over them, or did not take them. Where it
 * was away or said that its HSM is, they are not.
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
