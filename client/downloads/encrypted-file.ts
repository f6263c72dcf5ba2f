import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { documentPath } from '../documents/fields.ts';
import type { StoredFile } from '../files/stored-file.ts';
import type { Http, HttpStream } from '../http/http.ts';
import { VaultError } from '../errors/vault-error.ts';

/** Number of consecutive responses without any byte after which a download fails. */
const maxEmptyResponses = 5;

/** A range of the encrypted file; both offsets are inclusive. */
export interface EncryptedRange {
  readonly first: number;
  /**
   * Offset of the last byte, which may lie beyond the end of the file. The default is the end of
   * the file.
   */
  readonly last?: number;
}

/**
 * Yields the encrypted bytes of a file, without verifying them. If a response breaks off, requests
 * the rest of the same file. Throws version_conflict if the hash of the file has changed,
 * network_error, or VaultError 416 range_not_satisfiable for a range that begins beyond the end.
 */
export async function* fetchEncrypted(
  http: Http,
  file: Omit<StoredFile, 'fileKey'>,
  { first, last }: EncryptedRange,
  signal?: AbortSignal,
): AsyncGenerator<Bytes, void, void> {
  let position = first;
  let emptyResponses = 0;
  for (;;) {
    const begun = position;
    const answer = await openFrom(http, file, { first: begun, last }, signal).catch(
      (error: unknown) => {
        // Status 416 after an incomplete response means that it had delivered all bytes and only
        // its end was lost.
        if (begun > first && hasStatus(error, 416)) return undefined;
        throw error;
      },
    );
    if (answer === undefined) return;
    try {
      for await (const piece of cut(answer, { first: begun, last })) {
        position += piece.length;
        yield piece;
      }
      return;
    } catch (error) {
      emptyResponses = position === begun ? emptyResponses + 1 : 0;
      if (!hasBrokenOff(error) || emptyResponses === maxEmptyResponses) throw error;
    }
  }
}

async function openFrom(
  http: Http,
  { documentId, version, fileHash }: Omit<StoredFile, 'fileKey'>,
  { first, last }: EncryptedRange,
  signal: AbortSignal | undefined,
): Promise<HttpStream> {
  const isWhole = first === 0 && last === undefined;
  const headers = { accept: 'application/octet-stream', 'if-match': `"${fileHash}"` };
  try {
    return await http.open({
      method: 'GET',
      path: `${documentPath(documentId)}/download`,
      query: { version },
      headers: isWhole ? headers : { ...headers, range: `bytes=${first}-${last ?? ''}` },
      signal,
    });
  } catch (error) {
    if (!hasStatus(error, 412)) throw error;
    throw new ClientError('version_conflict', { cause: error });
  }
}

/**
 * Yields only the requested bytes of a response, even if the vault responds with the whole file,
 * which HTTP allows.
 */
async function* cut(
  { status, pieces }: HttpStream,
  { first, last = Infinity }: EncryptedRange,
): AsyncGenerator<Bytes, void, void> {
  let offset = status === 206 ? first : 0;
  for await (const piece of pieces) {
    const wanted = piece.subarray(Math.max(0, first - offset), last + 1 - offset);
    offset += piece.length;
    if (wanted.length > 0) yield wanted;
    if (offset > last) return;
  }
}

function hasBrokenOff(error: unknown): boolean {
  return error instanceof ClientError && error.code === 'network_error';
}

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof VaultError && error.status === status;
}
