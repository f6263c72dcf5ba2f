import { describeError, type ErrorCode } from './error-codes.ts';

export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

interface AppErrorOptions {
  readonly cause?: unknown;
  /**
   * Overrides the status in error-codes.ts, for codes with two statuses (document_sealed: 403 and
   * 409).
   */
  readonly status?: number;
  readonly details?: readonly ErrorDetail[];
  readonly retryAfterSeconds?: number;
  /**
   * Members added to the error body, such as `proofId`. They must hold neither secrets nor input.
   */
  readonly members?: Readonly<Record<string, unknown>>;
  /** More of such members, whose values are JSON texts already. They may be large. */
  readonly texts?: Readonly<Record<string, string>>;
}

/** The only error whose code reaches a client; any other error becomes `internal_error`. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly texts: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    super(describeError(code).message, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = options.status ?? describeError(code).status;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds ?? (this.status === 503 ? 5 : undefined);
    this.members = options.members ?? {};
    this.texts = options.texts ?? {};
  }
}
