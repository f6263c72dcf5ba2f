export const refusedCodes = [
  'invalid_request',
  'not_permitted',
  'not_found',
  'method_not_allowed',
  'payload_too_large',
] as const;

export const unavailableCodes = [
  'hsm_unavailable',
  'pin_incorrect',
  'key_missing',
  'busy',
  'internal_error',
] as const;

/** The signer will never do what was asked. */
export type RefusedCode = (typeof refusedCodes)[number];

/** The signer's own codes, and what its client finds when it gets no answer at all. */
type UnavailableCode =
  | (typeof unavailableCodes)[number]
  | 'unreachable'
  | 'timeout'
  | 'bad_response';

class SignerError<Code extends string> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The signer or its HSM is away: the same request may succeed later. HTTP 5xx on the wire. */
export class SignerUnavailable extends SignerError<UnavailableCode> {}

/** The request itself is at fault. HTTP 4xx on the wire. */
export class SignerRefused extends SignerError<RefusedCode> {}

export function isRefusedCode(code: string): code is RefusedCode {
  return refusedCodes.some((refused) => refused === code);
}
