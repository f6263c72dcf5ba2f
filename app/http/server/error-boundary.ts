import type { Context, Next } from 'koa';
import { AppError } from '../../errors/app-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { errorBody } from '../responses/error-body.ts';
import { limitIdleReader } from '../responses/idle-readers.ts';
import { sendText } from '../responses/json-text.ts';
import { noteError, requestInfo } from '../requests/request-context.ts';

/** Converts an error of another module to an AppError; returns undefined for unknown errors. */
type Translate = (error: unknown) => AppError | undefined;

/** Converts errors of the later middleware, and missing responses, to the contract's error body. */
export function errorBoundary(log: Log, translate: Translate) {
  return async function renderErrors(ctx: Context, next: Next): Promise<void> {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw new AppError('not_found');
      if (ctx.status === 405 || ctx.status === 501) throw refuseMethod(ctx);
    } catch (error) {
      render(ctx, toAppError(error, ctx, log, translate));
    }
  };
}

/**
 * Returns the error for a method without a route; the router's Allow is empty for unknown paths.
 */
function refuseMethod(ctx: Context): AppError {
  if (ctx.response.get('Allow') !== '') return new AppError('method_not_allowed');
  ctx.remove('Allow');
  return new AppError('not_found');
}

function toAppError(error: unknown, ctx: Context, log: Log, translate: Translate): AppError {
  const appError =
    error instanceof AppError
      ? error
      : (translate(error) ?? new AppError('internal_error', { cause: error }));
  // A client causes this refusal by many requests at once; each has a line in the log already.
  if (appError.status >= 500 && appError.code !== 'busy') {
    log.error(
      { err: error, code: appError.code, requestId: requestInfo(ctx).id },
      'request failed',
    );
  }
  return appError;
}

function render(ctx: Context, error: AppError): void {
  ctx.status = error.status;
  noteError(ctx, error.code);
  if (error.status === 401) ctx.set('WWW-Authenticate', challenge(error));
  if (error.retryAfterSeconds !== undefined)
    ctx.set('Retry-After', String(error.retryAfterSeconds));
  ctx.set('Cache-Control', 'no-store');
  sendText(ctx, errorBody(error, requestInfo(ctx)));
  // A conflict has a whole object, which a client may never read.
  limitIdleReader(ctx.res);
}

const tokenErrors: ReadonlySet<string> = new Set([
  'invalid_token',
  'token_expired',
  'invalid_issuer',
  'invalid_audience',
]);

/** Returns the WWW-Authenticate header. RFC 6750 §3.1 has one error code for all token problems. */
function challenge(error: AppError): string {
  const name = tokenErrors.has(error.code) ? 'invalid_token' : error.code;
  return `Bearer error="${name}", error_description="${error.message}"`;
}
