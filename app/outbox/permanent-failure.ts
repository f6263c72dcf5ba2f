/**
 * Thrown by a handler when trying again would not help: the worker logs it and erases the message.
 * Its text reaches the log, so it names no address and no secret.
 */
export class PermanentFailure extends Error {
  override name = 'PermanentFailure';
}
