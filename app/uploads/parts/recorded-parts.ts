import type { Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { SessionRow } from '../sessions/session-rows.ts';

/** A part as recorded, as far as a completion needs it. */
export interface PartRow {
  readonly partNumber: number;
  readonly etag: string;
  readonly size: number;
}

/** The parts that have arrived, in order. */
export async function loadParts(tx: Tx, sessionId: string): Promise<PartRow[]> {
  const rows = await tx
    .selectFrom('upload_parts')
    .select(['part_number as partNumber', 'etag', 'size'])
    .where('session_id', '=', sessionId)
    .where('stored_at', 'is not', null)
    .orderBy('part_number')
    .execute();
  return rows.map(({ partNumber, etag, size }) => ({
    partNumber,
    etag: etag ?? '',
    size: size ?? 0,
  }));
}

/** Throws invalid_parts unless all parts are there and add up to the file. */
export function assertWhole(session: SessionRow, parts: readonly PartRow[]): void {
  const stored = new Set(parts.map(({ partNumber }) => partNumber));
  const numbers = Array.from({ length: session.total_parts }, (_, index) => index + 1);
  const missing = numbers.filter((number) => !stored.has(number));
  if (missing.length > 0) throw missingParts(missing);
  const bytes = parts.reduce((sum, { size }) => sum + size, 0);
  if (bytes !== session.file_size) throw new AppError('invalid_parts');
}

/** Names the parts to be sent, or sent again, before the upload can be completed. */
export function missingParts(partNumbers: readonly number[], cause?: unknown): AppError {
  const details = partNumbers.map((number) => ({
    path: `parts.${number}`,
    message: 'must be sent',
  }));
  return new AppError('invalid_parts', { details, cause });
}
