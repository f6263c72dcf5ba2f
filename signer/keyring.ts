import type { KeyObject } from 'node:crypto';
import { findKeyLabel, formatKeyLabel } from './key-label.ts';
import type { KeyPurpose } from './key-label.ts';
import * as ck from './pkcs11.ts';
import { computeKeyId, exportSpki, readEcPublicKey, readRsaPublicKey } from './public-key.ts';

/** Handles are good for the login they were found in. */
type Key<Purpose extends KeyPurpose> = {
  purpose: Purpose;
  generation: number;
  handle: ck.Handle;
};

export type SigningKey = Key<'audit' | 'token'> & {
  publicKey: KeyObject;
  spki: Buffer;
  keyId: string;
};

export type MacKey = Key<'mac'>;

/** Every generation of every purpose, and the one of each that signs now: the highest. */
export type Keyring = {
  signingKeys: readonly SigningKey[];
  audit: SigningKey;
  token: SigningKey;
  mac: MacKey;
};

/** A purpose has no usable key in the token, or has two that claim to be the same. */
export class KeyringError extends Error {}

/** All keys of this project in the session's token, which may be none. Throws KeyringError. */
export function findKeys(session: ck.Session): {
  signingKeys: SigningKey[];
  macKeys: MacKey[];
} {
  const privateKeys = findByClass(session, ck.CKO_PRIVATE_KEY);
  const signingKeys = [
    ...privateKeys.filter(isFor('audit')).map((key) => withPublicKey(session, key)),
    ...privateKeys.filter(isFor('token')).map((key) => withPublicKey(session, key)),
  ];
  const macKeys = findByClass(session, ck.CKO_SECRET_KEY).filter(isFor('mac'));
  refuseDuplicates([...signingKeys, ...macKeys]);
  return { signingKeys, macKeys };
}

/** Throws KeyringError unless the token has a key for every purpose. */
export function loadKeyring(session: ck.Session): Keyring {
  const { signingKeys, macKeys } = findKeys(session);
  return {
    signingKeys,
    audit: newest(
      'audit',
      signingKeys.filter((key) => key.purpose === 'audit'),
    ),
    token: newest(
      'token',
      signingKeys.filter((key) => key.purpose === 'token'),
    ),
    mac: newest('mac', macKeys),
  };
}

function newest<K extends { generation: number }>(purpose: KeyPurpose, keys: readonly K[]): K {
  const key = keys.toSorted((a, b) => b.generation - a.generation)[0];
  if (!key) throw new KeyringError(`the token holds no ${purpose} key`);
  return key;
}

function findByClass(session: ck.Session, objectClass: number): Key<KeyPurpose>[] {
  const template = [
    { type: ck.CKA_CLASS, value: objectClass },
    { type: ck.CKA_TOKEN, value: true },
  ];
  return session.findObjects(template).flatMap((handle) => {
    const label = findKeyLabel(session.readAttribute(handle, ck.CKA_LABEL).toString());
    return label ? [{ ...label, handle }] : [];
  });
}

function isFor<P extends KeyPurpose>(purpose: P): (key: Key<KeyPurpose>) => key is Key<P> {
  return (key): key is Key<P> => key.purpose === purpose;
}

function withPublicKey(session: ck.Session, key: Key<'audit' | 'token'>): SigningKey {
  const label = formatKeyLabel(key.purpose, key.generation);
  const [object, ...others] = session.findObjects([
    { type: ck.CKA_CLASS, value: ck.CKO_PUBLIC_KEY },
    { type: ck.CKA_LABEL, value: label },
    { type: ck.CKA_ID, value: session.readAttribute(key.handle, ck.CKA_ID) },
  ]);
  if (!object || others.length > 0)
    throw new KeyringError(`the token must hold exactly one public key for ${label}`);
  const read = key.purpose === 'audit' ? readEcPublicKey : readRsaPublicKey;
  const publicKey = read(session, object);
  const spki = exportSpki(publicKey);
  return { ...key, publicKey, spki, keyId: computeKeyId(spki) };
}

function refuseDuplicates(keys: readonly Key<KeyPurpose>[]): void {
  const labels = keys.map((key) => formatKeyLabel(key.purpose, key.generation));
  const twice = labels.find((label, index) => labels.indexOf(label) !== index);
  if (twice) throw new KeyringError(`the token holds more than one key ${twice}`);
}
