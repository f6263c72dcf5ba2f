/** Codes of a request that got no answer of the app, or one that is not what its route answers. */
type OwnCode = 'unreachable' | 'bad_response';

/** A request to the vault that failed. */
export interface Failure {
  /** The code of the app's error body, or one of the client's own. */
  readonly code: OwnCode | (string & {});
  /** From the header Retry-After. */
  readonly retryAfterSeconds?: number | undefined;
}

/** An answer of the vault, or why there is none. */
export type Outcome<T> = { readonly ok: T } | { readonly failure: Failure };

export function isOk<T>(outcome: Outcome<T>): outcome is { readonly ok: T } {
  return 'ok' in outcome;
}
