export const refusedCodes = [
  'invalid_request',
  'not_permitted',
  'wrong_generation',
  'not_found',
  'method_not_allowed',
  'payload_too_large',
] as const;

export const unavailableCodes = [
  'hsm_unavailable',
  'pin_incorrect',
  'key_missing',
  'busy',
  'clock_skew',
  'wrong_issuer',
  'internal_error',
] as const;

/** Codes of a request that the signer will never carry out. */
export type RefusedCode = (typeof refusedCodes)[number];

/** Codes of a client that gets no valid response. */
const unansweredCodes = ['unreachable', 'socket_untrusted', 'timeout', 'bad_response'] as const;

/** The signer's own codes, and those of its client when it gets no valid response. */
type UnavailableCode = (typeof unavailableCodes)[number] | (typeof unansweredCodes)[number];

export const signerErrorCodes = [...refusedCodes, ...unavailableCodes, ...unansweredCodes] as const;
export type SignerErrorCode = (typeof signerErrorCodes)[number];

class SignerError<Code extends string> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The signer or its HSM is unavailable: a retry may succeed later. HTTP 5xx on the wire. */
export class SignerUnavailable extends SignerError<UnavailableCode> {}

/** The request itself is wrong, so that a retry fails again. HTTP 4xx on the wire. */
export class SignerRefused extends SignerError<RefusedCode> {}

export function isRefusedCode(code: string): code is RefusedCode {
  return refusedCodes.some((refused) => refused === code);
}
