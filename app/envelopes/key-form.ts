import { AppError } from '../errors/app-error.ts';
import { wrapKey } from './aes-kw.ts';

/** The master key as a client sends it: wrapped, or in the raw beside the key to wrap it with. Base64. */
export type KeyForm =
  | { readonly encryptedEnvelope: string }
  | { readonly wrappingKey: string; readonly masterKey: string };

/** The wrapped form, base64 of 40 bytes. Throws invalid_key_length or raw_keys_refused. */
export type ToEnvelope = (form: KeyForm) => string;

const keyBytes = 32;
const envelopeBytes = 40;

export function createKeyForms({ rawForm }: { readonly rawForm: 'allow' | 'refuse' }): ToEnvelope {
  return function toEnvelope(form) {
    if ('encryptedEnvelope' in form) return assertEnvelope(form.encryptedEnvelope);
    if (rawForm === 'refuse') throw new AppError('raw_keys_refused');
    return wrapRaw(form.wrappingKey, form.masterKey);
  };
}

/** The envelope, if it has the length of one. Throws invalid_key_length. */
export function assertEnvelope(envelope: string): string {
  if (Buffer.byteLength(envelope, 'base64') === envelopeBytes) return envelope;
  throw new AppError('invalid_key_length');
}

/** Leaves no key in any buffer. */
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
