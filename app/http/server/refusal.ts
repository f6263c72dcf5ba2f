import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError } from '../../errors/app-error.ts';
import type { ErrorCode } from '../../errors/error-codes.ts';
import { errorBody } from '../responses/error-body.ts';
import { securityHeaderValues } from '../responses/security-headers.ts';

/**
 * Error codes of the API for errors of Node and its HTTP parser. Other errors become
 * invalid_request.
 */
const codes: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_INVALID_EOF_STATE: 'incomplete_body',
};

/**
 * Responds to bytes that are not a valid request, which Koa never sees, and closes the connection.
 */
export function refuse({ code = '' }: NodeJS.ErrnoException, socket: Duplex): void {
  respond(socket, new AppError(codes[code] ?? 'invalid_request'));
}

/** Sends an error response on a connection without a valid request, and ends the connection. */
export function respond(socket: Duplex, error: AppError): void {
  const id = randomUUID();
  const body = errorBody(error, { path: '', id }).bytes;
  const { retryAfterSeconds } = error;
  const headers = {
    ...securityHeaderValues,
    'X-Request-Id': id,
    'Cache-Control': 'no-store',
    ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }),
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(body.length),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const status = `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`;
  socket.write([status, ...lines, '', ''].join('\r\n'));
  socket.end(body);
}
