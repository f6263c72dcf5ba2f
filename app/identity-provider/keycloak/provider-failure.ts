interface FailureOptions {
  readonly cause?: unknown;
  /** Whether another attempt may succeed soon. */
  readonly isPassing: boolean;
}

/**
 * Thrown inside the adapter when Keycloak did not do what it was asked. The text, which is logged,
 * holds method and status, and nothing of a request or a response.
 */
export class ProviderFailure extends Error {
  override name = 'ProviderFailure';
  readonly isPassing: boolean;

  constructor(message: string, { cause, isPassing }: FailureOptions) {
    super(message, { cause });
    this.isPassing = isPassing;
  }
}
