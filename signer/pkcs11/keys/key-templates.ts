import { randomBytes } from 'node:crypto';
import { formatKeyLabel, type KeyPurpose } from './key-label.ts';
import * as ck from '../library/pkcs11.ts';

/** The DER object identifier of P-256 (prime256v1, RFC 5480). */
const p256Oid = Buffer.from('06082a8648ce3d030107', 'hex');
const rsaExponent = Buffer.from([1, 0, 1]);
const macKeyBytes = 32;
const idBytes = 16;

interface KeyOptions {
  readonly generation: number;
  readonly rsaBits: number;
}

type Generate = (session: ck.Session, options: KeyOptions) => Promise<ck.Handle>;

/**
 * Generates a key that can only sign and cannot be extracted from the token. Resolves with the
 * handle of the private or secret key.
 */
export const generateKey: Record<KeyPurpose, Generate> = {
  audit(session, { generation }) {
    const name = nameOf('audit', generation);
    return session.generateKeyPair(
      ck.CKM_EC_KEY_PAIR_GEN,
      [...publicKey(name, ck.CKK_EC), { type: ck.CKA_EC_PARAMS, value: p256Oid }],
      privateKey(name, ck.CKK_EC),
    );
  },

  token(session, { generation, rsaBits }) {
    const name = nameOf('token', generation);
    return session.generateKeyPair(
      ck.CKM_RSA_PKCS_KEY_PAIR_GEN,
      [
        ...publicKey(name, ck.CKK_RSA),
        { type: ck.CKA_MODULUS_BITS, value: rsaBits },
        { type: ck.CKA_PUBLIC_EXPONENT, value: rsaExponent },
      ],
      privateKey(name, ck.CKK_RSA),
    );
  },

  mac: (session, { generation }) => generateMacKey(session, nameOf('mac', generation)),
  encryption: (session, { generation }) =>
    generateMacKey(session, nameOf('encryption', generation)),
};

function generateMacKey(session: ck.Session, name: ck.Template): Promise<ck.Handle> {
  return session.generateKey(ck.CKM_GENERIC_SECRET_KEY_GEN, [
    { type: ck.CKA_CLASS, value: ck.CKO_SECRET_KEY },
    { type: ck.CKA_KEY_TYPE, value: ck.CKK_GENERIC_SECRET },
    { type: ck.CKA_VALUE_LEN, value: macKeyBytes },
    { type: ck.CKA_VERIFY, value: false },
    { type: ck.CKA_ENCRYPT, value: false },
    { type: ck.CKA_WRAP, value: false },
    ...signOnly,
    ...name,
  ]);
}

const signOnly: ck.Template = [
  { type: ck.CKA_TOKEN, value: true },
  { type: ck.CKA_PRIVATE, value: true },
  { type: ck.CKA_SENSITIVE, value: true },
  { type: ck.CKA_EXTRACTABLE, value: false },
  { type: ck.CKA_SIGN, value: true },
  { type: ck.CKA_DECRYPT, value: false },
  { type: ck.CKA_UNWRAP, value: false },
  { type: ck.CKA_DERIVE, value: false },
];

function privateKey(name: ck.Template, keyType: number): ck.Template {
  return [
    { type: ck.CKA_CLASS, value: ck.CKO_PRIVATE_KEY },
    { type: ck.CKA_KEY_TYPE, value: keyType },
    ...signOnly,
    ...name,
  ];
}

function publicKey(name: ck.Template, keyType: number): ck.Template {
  return [
    { type: ck.CKA_CLASS, value: ck.CKO_PUBLIC_KEY },
    { type: ck.CKA_KEY_TYPE, value: keyType },
    { type: ck.CKA_TOKEN, value: true },
    { type: ck.CKA_PRIVATE, value: false },
    { type: ck.CKA_VERIFY, value: true },
    { type: ck.CKA_ENCRYPT, value: false },
    { type: ck.CKA_WRAP, value: false },
    ...name,
  ];
}

/**
 * Returns the attributes that name a key: its label, and a random id that distinguishes it from a
 * key that was created concurrently with the same label.
 */
function nameOf(purpose: KeyPurpose, generation: number): ck.Template {
  return [
    { type: ck.CKA_LABEL, value: formatKeyLabel(purpose, generation) },
    { type: ck.CKA_ID, value: randomBytes(idBytes) },
  ];
}
