/** An error of the API. Its message says what is wrong and what to do, and never echoes input. */
export interface ErrorKind {
  readonly status: number;
  readonly message: string;
  /** Responses have Retry-After, which says when the same request may succeed. */
  readonly isForLater: boolean;
}

export function kind(status: number, message: string): ErrorKind {
  return { status, message, isForLater: status === 429 || status === 503 };
}

/** Returns the kind of an error whose responses may have Retry-After, whatever their status. */
export function passing(status: number, message: string): ErrorKind {
  return { status, message, isForLater: true };
}
