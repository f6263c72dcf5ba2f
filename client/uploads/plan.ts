import { ClientError } from '../errors/client-error.ts';
import { defaultSegmentBytes } from '../files/header.ts';
import { encryptedSize } from '../files/layout.ts';
import type { UploadConfig } from './uploads.ts';

const preferredPartBytes = 16 * 1_048_576;

export interface UploadPlan {
  readonly encryptedSize: number;
  /** Bytes of every part but the last; a whole number of segments. */
  readonly partSize: number;
  readonly totalParts: number;
}

/**
 * Plans the parts of an upload: 16 MiB each, or larger if the vault would not accept that many
 * parts. Throws file_too_large, and RangeError for an invalid size.
 */
export function planUpload(
  plaintextSize: number,
  { maxFileSize, minPartSize, maxPartSize, maxParts }: UploadConfig,
): UploadPlan {
  if (!Number.isSafeInteger(plaintextSize) || plaintextSize < 0) {
    throw new RangeError('The size of a file must be a whole number of bytes, 0 or more.');
  }
  if (plaintextSize > maxFileSize) throw new ClientError('file_too_large');
  const total = encryptedSize(plaintextSize, defaultSegmentBytes);
  const needed = Math.max(minPartSize, total / maxParts);
  const wanted = Math.max(needed, Math.min(preferredPartBytes, maxPartSize));
  const rounded = Math.ceil(wanted / defaultSegmentBytes) * defaultSegmentBytes;
  const largest = Math.floor(maxPartSize / defaultSegmentBytes) * defaultSegmentBytes;
  const partSize = Math.min(rounded, largest);
  if (total > maxFileSize || partSize < needed) throw new ClientError('file_too_large');
  return { encryptedSize: total, partSize, totalParts: Math.ceil(total / partSize) };
}
