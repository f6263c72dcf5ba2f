/** An error of the API. Its message says what is wrong and what to do, and never echoes input. */
export interface ErrorKind {
  readonly status: number;
  readonly message: string;
}

export function kind(status: number, message: string): ErrorKind {
  return { status, message };
}
