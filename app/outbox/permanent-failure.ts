/**
 * Says that a retry cannot help. A handler throws it; the worker logs it and erases the message.
 * Its text is logged, so it must contain no e-mail address and no secret.
 */
export class PermanentFailure extends Error {
  override name = 'PermanentFailure';
}
