import * as ck from '../library/pkcs11.ts';

/** The attributes of a private or secret key by which its token states where the key comes from. */
export const provenanceAttributes = [
  ck.CKA_LOCAL,
  ck.CKA_NEVER_EXTRACTABLE,
  ck.CKA_ALWAYS_SENSITIVE,
] as const;

/**
 * Returns whether a key with these values of `provenanceAttributes` was generated in its token and
 * could never leave it. No program can set these attributes. Values that are missing mean false.
 */
export function isGeneratedInside(values: readonly Buffer[]): boolean {
  return values.length === provenanceAttributes.length && values.every(isTrue);
}

function isTrue(value: Buffer): boolean {
  return value.length === 1 && value[0] === 1;
}
