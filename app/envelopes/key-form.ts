import { AppError } from '../errors/app-error.ts';
import { wrapKey } from './aes-kw.ts';

/**
 * The master key in base64 as a client sends it: wrapped, or unwrapped together with its wrapping
 * key.
 */
export type KeyForm =
  | { readonly encryptedEnvelope: string }
  | { readonly wrappingKey: string; readonly masterKey: string };

const keyBytes = 32;
const envelopeBytes = 40;

export type ToEnvelope = ReturnType<typeof createKeyForms>;

/**
 * Creates the function that wraps master keys. With `refuse`, the function accepts only keys that
 * the client has wrapped.
 */
export function createKeyForms({ rawForm }: { readonly rawForm: 'allow' | 'refuse' }) {
  /** Returns the wrapped key: base64 of 40 bytes. Throws invalid_key_length or raw_keys_refused. */
  return function toEnvelope(form: KeyForm): string {
    if ('encryptedEnvelope' in form) return assertEnvelope(form.encryptedEnvelope);
    if (rawForm === 'refuse') throw new AppError('raw_keys_refused');
    return wrapRaw(form.wrappingKey, form.masterKey);
  };
}

/** Returns an envelope of the right length. Throws invalid_key_length for any other. */
export function assertEnvelope(envelope: string): string {
  if (Buffer.byteLength(envelope, 'base64') === envelopeBytes) return envelope;
  throw new AppError('invalid_key_length');
}

/** Wraps a key that a client sent unwrapped. Zeroes every buffer that holds a key. */
function wrapRaw(wrappingKeyBase64: string, masterKeyBase64: string): string {
  const wrappingKey = Buffer.alloc(keyBytes);
  const masterKey = Buffer.alloc(keyBytes);
  try {
    decodeKey(wrappingKeyBase64, wrappingKey);
    decodeKey(masterKeyBase64, masterKey);
    return wrapKey(wrappingKey, masterKey).toString('base64');
  } finally {
    wrappingKey.fill(0);
    masterKey.fill(0);
  }
}

function decodeKey(base64: string, into: Buffer): void {
  if (Buffer.byteLength(base64, 'base64') !== keyBytes) throw new AppError('invalid_key_length');
  into.write(base64, 'base64');
}
