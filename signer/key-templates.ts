import { formatKeyLabel } from './key-label.ts';
import type { KeyPurpose } from './key-label.ts';
import * as ck from './pkcs11.ts';

/** The DER object identifier of P-256 (prime256v1, RFC 5480). */
const P256_OID = Buffer.from('06082a8648ce3d030107', 'hex');
const RSA_EXPONENT = Buffer.from([1, 0, 1]);
const MAC_KEY_BYTES = 32;

export type KeyOptions = { generation: number; rsaBits: number };

/** Makes a key that signs and does nothing else, and that the token never lets out. */
export const generateKey: Record<KeyPurpose, (session: ck.Session, options: KeyOptions) => void> = {
  audit(session, { generation }) {
    const name = nameOf('audit', generation);
    session.generateKeyPair(
      ck.CKM_EC_KEY_PAIR_GEN,
      [...publicKey(name, ck.CKK_EC), { type: ck.CKA_EC_PARAMS, value: P256_OID }],
      privateKey(name, ck.CKK_EC),
    );
  },

  token(session, { generation, rsaBits }) {
    const name = nameOf('token', generation);
    session.generateKeyPair(
      ck.CKM_RSA_PKCS_KEY_PAIR_GEN,
      [
        ...publicKey(name, ck.CKK_RSA),
        { type: ck.CKA_MODULUS_BITS, value: rsaBits },
        { type: ck.CKA_PUBLIC_EXPONENT, value: RSA_EXPONENT },
      ],
      privateKey(name, ck.CKK_RSA),
    );
  },

  mac(session, { generation }) {
    session.generateKey(ck.CKM_GENERIC_SECRET_KEY_GEN, [
      { type: ck.CKA_CLASS, value: ck.CKO_SECRET_KEY },
      { type: ck.CKA_KEY_TYPE, value: ck.CKK_GENERIC_SECRET },
      { type: ck.CKA_VALUE_LEN, value: MAC_KEY_BYTES },
      { type: ck.CKA_VERIFY, value: false },
      { type: ck.CKA_ENCRYPT, value: false },
      { type: ck.CKA_WRAP, value: false },
      ...signOnly,
      ...nameOf('mac', generation),
    ]);
  },
};

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

function nameOf(purpose: KeyPurpose, generation: number): ck.Template {
  const label = formatKeyLabel(purpose, generation);
  return [
    { type: ck.CKA_LABEL, value: label },
    { type: ck.CKA_ID, value: Buffer.from(label) },
  ];
}
