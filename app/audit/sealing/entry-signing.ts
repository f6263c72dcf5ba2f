import type { SignerClient } from '../../../signer/protocol/client.ts';
import type { EntryToSeal, Seal, SealResult } from '../../../signer/protocol/protocol.ts';
import { SignerRefused, SignerUnavailable } from '../../../signer/protocol/signer-error.ts';
import { agreesWithRow, type EntryRow } from './row-comparison.ts';

/** An entry that one process has leased for sealing. */
export interface ClaimedEntry extends EntryRow {
  /** The canonical text; null if it is larger than the signer accepts. */
  readonly text: string | null;
}

/** A fault of an entry itself, because of which it could not be sealed. */
export interface SealFault {
  readonly id: string;
  readonly reason: string;
}

export interface Signed {
  readonly seals: readonly Seal[];
  readonly faults: readonly SealFault[];
  /** The ids of entries that wait until the signer's clock reaches their time. */
  readonly early: readonly string[];
}

/** The message about entries that wait until the signer's clock reaches their time. */
export const earlyEntries = 'the signer’s clock is over 60 s behind the time of entries';

/** The fault of an entry whose text contradicts its row. */
export const rowMismatch = 'row_mismatch';

export interface EntrySigning {
  /**
   * Signs the entries; resolves with their seals and faults. An entry whose text contradicts its
   * row never reaches the signer. If the signer fails on a batch as a whole, the batch is halved
   * repeatedly until the entry that causes the failure is alone in a batch. Throws
   * SignerUnavailable or SignerRefused if the signer fails for a reason that no entry can cause.
   * Throws them also if the signer has sealed nothing since it last failed on a single entry: then
   * the signer may be broken, and no entry is blamed. Throws SignerUnavailable `wrong_issuer` if
   * the signer does not serve this vault.
   */
  sign(keyId: string, entries: readonly ClaimedEntry[]): Promise<Signed>;
}

/** Codes of failures that an entry may cause. The signer or the HSM causes all other failures. */
const doubtful: ReadonlySet<string> = new Set([
  'bad_response',
  'internal_error',
  'invalid_request',
  'payload_too_large',
]);

/** System error codes of failed connections, over which the signer received no entry. */
const unheard: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOENT', 'EACCES']);

type Refusal = Exclude<SealResult, Seal>;

interface Suspect extends SealFault {
  readonly error: Error;
}

interface SigningOptions {
  readonly signer: Pick<SignerClient, 'seal'>;
  /** The vault's public URL. */
  readonly issuer: string;
}

export function createEntrySigning({ signer, issuer }: SigningOptions): EntrySigning {
  /**
   * Whether the signer has sealed anything since it last failed on a single entry. If not, the
   * signer itself may be broken, and the failure must not count as an attempt of the entry.
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

  /**
   * Seals entries, and halves the batch after a failure. Adds each entry on which the signer fails
   * in a batch of one to `suspects`.
   */
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

  /** Throws SignerUnavailable if the signer refused this vault's own name. */
  function assertServed(sent: readonly EntryToSeal[], refused: readonly Refusal[]): void {
    const foreign = new Set(refused.filter(isForeign).map(({ id }) => id));
    const own = sent.find(({ id, text }) => foreign.has(id) && issuerOf(text) === issuer);
    if (own === undefined) return;
    throw new SignerUnavailable(
      'wrong_issuer',
      `the signer's SIGNER_ISSUERS does not have ${issuer}, the HTTP_PUBLIC_URL of this app`,
    );
  }

  return {
    async sign(keyId, entries) {
      const forged = entries.filter((entry) => !isSound(entry));
      const suspects: Suspect[] = [];
      const sent = entries.filter(isSound).flatMap(toSend);
      const results = await sealHalving(keyId, sent, suspects);
      const [suspect] = suspects;
      if (suspect !== undefined) {
        const isToBlame = hasSealedSince;
        hasSealedSince = false;
        if (!isToBlame) throw suspect.error;
      }
      const refused = results.filter((result): result is Refusal => !isSeal(result));
      assertServed(sent, refused);
      return {
        seals: results.filter(isSeal),
        early: refused.filter(isEarly).map(({ id }) => id),
        faults: [
          ...forged.map(({ id }) => ({ id, reason: rowMismatch })),
          ...entries.filter(({ text }) => text === null).map(({ id }) => tooLarge(id)),
          ...refused.filter((result) => !isEarly(result)).map(toFault),
          ...suspects.map(({ id, reason }) => ({ id, reason })),
        ],
      };
    },
  };
}

/**
 * Returns the fault that the signer would report for a text above its limit. Such a text is neither
 * loaded nor sent.
 */
function tooLarge(id: string): SealFault {
  return { id, reason: 'too_large' };
}

function toFault({ id, error }: Refusal): SealFault {
  return { id, reason: error };
}

function isEarly({ error }: Refusal): boolean {
  return error === 'future_timestamp';
}

function isForeign({ error }: Refusal): boolean {
  return error === 'wrong_issuer';
}

function issuerOf(text: string): unknown {
  return (JSON.parse(text) as { readonly issuer?: unknown }).issuer;
}

function isSound(entry: ClaimedEntry): boolean {
  return entry.text === null || agreesWithRow(entry.text, entry);
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
 * Returns whether the entries may be the cause of a failure: the signer timed out, closed the
 * connection or refused the entries. Returns false if the signer could not be reached, or if the
 * signer reported that its HSM is unavailable.
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
