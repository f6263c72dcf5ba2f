/** A secret, or a function that returns its present value. */
export type Secret = string | (() => string);

/** Returns the present value of a secret. */
export function valueOf(secret: Secret): string {
  return typeof secret === 'string' ? secret : secret();
}
