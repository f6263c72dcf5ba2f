import type { Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { SessionRow } from '../sessions/session-rows.ts';

/** The fields of a recorded part that a completion needs. */
export interface PartRow {
  readonly partNumber: number;
  readonly etag: string;
  readonly size: number;
}

/** Loads the recorded parts of an upload session in the order of their part numbers. */
export async function loadParts(
  tx: Tx,
  { userId, tenantId }: Owner,
  sessionId: string,
): Promise<PartRow[]> {
  const rows = await tx
    .selectFrom('upload_parts')
    .select(['part_number as partNumber', 'etag', 'size'])
    .where('session_id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('stored_at', 'is not', null)
    .orderBy('part_number')
    .execute();
  return rows.map(({ partNumber, etag, size }) => ({
    partNumber,
    etag: etag ?? '',
    size: size ?? 0,
  }));
}

/** Throws invalid_parts unless all parts have arrived and their sizes add up to the file size. */
export function assertWhole(session: SessionRow, parts: readonly PartRow[]): void {
  const stored = new Set(parts.map(({ partNumber }) => partNumber));
  const numbers = Array.from({ length: session.total_parts }, (_, index) => index + 1);
  const missing = numbers.filter((number) => !stored.has(number));
  if (missing.length > 0) throw missingParts(missing);
  const bytes = parts.reduce((sum, { size }) => sum + size, 0);
  if (bytes !== session.file_size) throw new AppError('invalid_parts');
}

/** Returns the error that names the parts which must be sent before the upload can complete. */
export function missingParts(partNumbers: readonly number[], cause?: unknown): AppError {
  const details = partNumbers.map((number) => ({
    path: `parts.${number}`,
    message: 'must be sent',
  }));
  return new AppError('invalid_parts', { details, cause });
}
