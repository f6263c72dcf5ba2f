import { STATUS_CODES } from 'node:http';
import type { AppError } from '../../errors/app-error.ts';
import { withTexts, type JsonText } from './json-text.ts';

/** Returns the response body of an error, as the contract defines it. */
export function errorBody(
  error: AppError,
  { path, id }: { readonly path: string; readonly id: string },
): JsonText {
  const body = {
    statusCode: error.status,
    message: error.message,
    error: STATUS_CODES[error.status] ?? 'Error',
    timestamp: new Date().toISOString(),
    path,
    code: error.code,
    requestId: id,
    ...(error.details === undefined ? {} : { details: error.details }),
    ...error.members,
  };
  return withTexts(body, error.texts);
}
