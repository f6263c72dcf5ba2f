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

/**
 * All signing keys of a token and its MAC key, which is always the oldest MAC key, because values
 * derived from it are stored.
 */
export interface Keyring {
  readonly signingKeys: readonly SigningKey[];
  readonly mac: MacKey;
}

/** Thrown when a purpose has no usable key in the token, or two keys that cannot be told apart. */
export class KeyringError extends Error {}

/**
 * Finds all signing keys of the session's token. If several keys share a label, as while two
 * signers create a key concurrently, all of them are included.
 */
export function findSigningKeys(
  session: Session,
  parse: PublicKeyParser = createPublicKeyParser(),
): SigningKey[] {
  return SigningPurpose.options.flatMap((purpose) =>
    joinHalves(session, purpose, undefined, parse),
  );
}

/** Loads all keys. Throws KeyringError unless the token has a key for every purpose. */
export function loadKeyring(session: Session, parse: PublicKeyParser): Keyring {
  const signingKeys = findSigningKeys(session, parse);
  for (const purpose of SigningPurpose.options) {
    if (!signingKeys.some((key) => key.purpose === purpose))
      throw new KeyringError(`the token holds no ${purpose} key`);
  }
  return { signingKeys, mac: findMacKey(session) };
}

/**
 * Loads a key with its public half. Throws KeyringError unless the key has exactly one public half.
 */
export function loadSigningKey(session: Session, key: StoredKey<SigningPurpose>): SigningKey {
  const { purpose, generation } = key;
  const whole = joinHalves(session, purpose, generation, createPublicKeyParser()).find(({ id }) =>
    id.equals(key.id),
  );
  if (whole === undefined)
    throw new KeyringError(`the token does not hold exactly one public key for ${labelOf(key)}`);
  return whole;
}

/**
 * Finds the oldest MAC key. Throws KeyringError if there is no MAC key, or if two keys have the
 * label of the oldest.
 */
export function findMacKey(session: Session): MacKey {
  const [oldest, next] = findKeysOf(session, 'mac');
  if (oldest === undefined) throw new KeyringError('the token holds no mac key');
  if (oldest.generation === next?.generation)
    throw new KeyringError(`the token holds more than one key ${labelOf(oldest)}`);
  return oldest;
}

/** Returns the labels that more than one of the keys has. */
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

function labelOf({
  purpose,
  generation,
}: {
  readonly purpose: KeyPurpose;
  readonly generation: number;
}): string {
  return formatKeyLabel(purpose, generation);
}

/**
 * Pairs each private key with its public key. Skips a private key that has no public key or
 * several, for example while another signer is destroying the pair, and a key whose type differs
 * from the type that its label states.
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
    if (half === undefined || others.length > 0) return [];
    const publicKey = parse(purpose, half.attributes);
    return publicKey === undefined ? [] : [{ ...key, ...publicKey }];
  });
}

/** Returns a name that both halves of a pair share with no other key. */
function nameOf({ generation, id }: StoredKey): string {
  return `${generation} ${id.toString('hex')}`;
}
