import { SigningPurpose } from '../../protocol/protocol.ts';
import { formatKeyLabel, type KeyPurpose } from './key-label.ts';
import { findKeysOf, findPublicHalvesOf, type StoredKey } from './key-objects.ts';
import type { Session } from '../library/pkcs11.ts';
import {
  createPublicKeyParser,
  publicKeyAttributes,
  type PublicKey,
  type PublicKeyParser,
} from './public-key.ts';

export type SigningKey = StoredKey<SigningPurpose> & PublicKey;
export type MacKey = StoredKey<'mac'>;

/** Every key that signs, and the MAC key: the oldest for ever, since what it derived is stored. */
export type Keyring = { signingKeys: readonly SigningKey[]; mac: MacKey };

/** A purpose has no usable key in the token, or it cannot be told which of two is meant. */
export class KeyringError extends Error {}

/**
 * The signing keys of the session's token, which may be none. Two of one label are both there, as
 * they are for the moment in which two signers make a key at once.
 */
export function findSigningKeys(
  session: Session,
  parse: PublicKeyParser = createPublicKeyParser(),
): SigningKey[] {
  return SigningPurpose.options.flatMap((purpose) =>
    joinHalves(session, purpose, undefined, parse),
  );
}

/** Throws KeyringError unless the token has a key for every purpose. */
export function loadKeyring(session: Session, parse: PublicKeyParser): Keyring {
  const signingKeys = findSigningKeys(session, parse);
  for (const purpose of SigningPurpose.options) {
    if (!signingKeys.some((key) => key.purpose === purpose))
      throw new KeyringError(`the token holds no ${purpose} key`);
  }
  return { signingKeys, mac: findMacKey(session) };
}

/** Throws KeyringError unless the token has the public half as well. */
export function loadSigningKey(session: Session, key: StoredKey<SigningPurpose>): SigningKey {
  const { purpose, generation } = key;
  const whole = joinHalves(session, purpose, generation, createPublicKeyParser()).find(({ id }) =>
    id.equals(key.id),
  );
  if (!whole) throw new KeyringError(`the token holds no one public key for ${labelOf(key)}`);
  return whole;
}

/** Throws KeyringError. */
export function findMacKey(session: Session): MacKey {
  const [oldest, next] = findKeysOf(session, 'mac');
  if (!oldest) throw new KeyringError('the token holds no mac key');
  if (oldest.generation === next?.generation)
    throw new KeyringError(`the token holds more than one key ${labelOf(oldest)}`);
  return oldest;
}

/** The labels that more than one of the keys have. */
export function findSharedLabels(
  keys: readonly { purpose: KeyPurpose; generation: number }[],
): Set<string> {
  const seen = new Set<string>();
  return new Set(
    keys.map(labelOf).filter((label) => {
      const isShared = seen.has(label);
      seen.add(label);
      return isShared;
    }),
  );
}

function labelOf({ purpose, generation }: { purpose: KeyPurpose; generation: number }): string {
  return formatKeyLabel(purpose, generation);
}

/**
 * Leaves out a key of which one half is missing, as when another signer takes its key back, or that
 * is of another kind than its label says.
 */
function joinHalves(
  session: Session,
  purpose: SigningPurpose,
  generation: number | undefined,
  parse: PublicKeyParser,
): SigningKey[] {
  const types = publicKeyAttributes[purpose];
  const keys = findKeysOf(session, purpose, generation);
  const halves = Map.groupBy(findPublicHalvesOf(session, purpose, { generation, types }), nameOf);
  return keys.flatMap((key) => {
    const [half, ...others] = halves.get(nameOf(key)) ?? [];
    const publicKey = half && others.length === 0 ? parse(purpose, half.attributes) : undefined;
    return publicKey ? [{ ...key, ...publicKey }] : [];
  });
}

/** What both halves of a pair have, and no other key. */
function nameOf({ generation, id }: StoredKey): string {
  return `${generation} ${id.toString('hex')}`;
}
