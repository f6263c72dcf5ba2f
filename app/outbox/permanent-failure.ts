/**
 * Thrown by an outbox handler if a retry cannot help. The worker logs the error and erases the
 * outbox message. The text of the error must contain no e-mail address and no secret.
 */
export class PermanentFailure extends Error {
  override name = 'PermanentFailure';
}
