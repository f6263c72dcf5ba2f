import type { Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { SessionRow } from '../sessions/session-rows.ts';
import { canAddUp, declaredFile, type SettledParts } from './part-sizes.ts';

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

/**
 * Throws parts_cannot_fit if the recorded parts and any others cannot make up the file. No request
 * for a part leaves them so; parts that an earlier version recorded may be.
 */
export function assertCanAddUp(session: SessionRow, parts: readonly PartRow[]): void {
  const settled = settle(session, parts);
  if (canAddUp(declaredFile(session), settled)) return;
  const details = [
    { path: 'fileSize', message: `expected ${session.file_size} bytes, not ${settled.bytes}` },
    ...parts.map(({ partNumber, size }) => ({
      path: `parts.${partNumber}`,
      message: `received ${size} bytes`,
    })),
  ];
  throw new AppError('parts_cannot_fit', { details });
}

/** Throws parts_cannot_fit, or invalid_parts unless all parts have arrived. */
export function assertWhole(session: SessionRow, parts: readonly PartRow[]): void {
  assertCanAddUp(session, parts);
  const stored = new Set(parts.map(({ partNumber }) => partNumber));
  const numbers = Array.from({ length: session.total_parts }, (_, index) => index + 1);
  const missing = numbers.filter((number) => !stored.has(number));
  if (missing.length > 0) throw missingParts(missing);
}

/** Returns the error that names the parts which must be sent before the upload can complete. */
export function missingParts(partNumbers: readonly number[], cause?: unknown): AppError {
  const details = partNumbers.map((number) => ({
    path: `parts.${number}`,
    message: 'must be sent',
  }));
  return new AppError('invalid_parts', { details, cause });
}

function settle({ total_parts: last }: SessionRow, parts: readonly PartRow[]): SettledParts {
  return {
    count: parts.length,
    bytes: parts.reduce((sum, { size }) => sum + size, 0),
    hasLast: parts.some(({ partNumber }) => partNumber === last),
  };
}
