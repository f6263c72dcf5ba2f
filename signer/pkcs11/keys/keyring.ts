import { SigningPurpose } from '../../protocol/protocol.ts';
import { findAdopted } from './adoptions.ts';
import { formatKeyLabel, type KeyPurpose } from './key-label.ts';
import { findKeysOf, findPublicHalvesOf, type SecretHalf, type StoredKey } from './key-objects.ts';
import type { Session } from '../library/pkcs11.ts';
import {
  createPublicKeyParser,
  publicKeyAttributes,
  type PublicKey,
  type PublicKeyParser,
} from './public-key.ts';

export type SigningKey = SecretHalf<SigningPurpose> & PublicKey;
export type MacKey = StoredKey<'mac' | 'encryption'>;

/** The signing keys of a token, by whether they are used. */
export interface SigningKeys {
  /** Keys that the token generated and that never left it, and imported keys that were adopted. */
  readonly used: readonly SigningKey[];
  /** Imported keys that nobody has adopted, which sign nothing. */
  readonly unadopted: readonly SigningKey[];
}

/**
 * All signing keys of a token and its MAC key, which is always the oldest MAC key, because values
 * derived from it are stored.
 */
export interface Keyring {
  readonly signingKeys: readonly SigningKey[];
  readonly unadopted: readonly SigningKey[];
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

/** Finds all signing keys like `findSigningKeys`, and separates those that nobody may use. */
export function sortSigningKeys(session: Session, parse?: PublicKeyParser): SigningKeys {
  const keys = findSigningKeys(session, parse);
  const adopted = keys.some(({ imported }) => imported) ? findAdopted(session) : new Set();
  const isUsed = ({ imported, keyId }: SigningKey) => !imported || adopted.has(keyId);
  return { used: keys.filter(isUsed), unadopted: keys.filter((key) => !isUsed(key)) };
}

/** Loads all keys. Throws KeyringError unless the token has a usable key for every purpose. */
export function loadKeyring(session: Session, parse: PublicKeyParser): Keyring {
  const { used, unadopted } = sortSigningKeys(session, parse);
  for (const purpose of SigningPurpose.options) {
    if (used.some((key) => key.purpose === purpose)) continue;
    const isImported = unadopted.some((key) => key.purpose === purpose);
    throw new KeyringError(
      `the token holds no ${purpose} key${isImported ? ' that it generated itself' : ''}`,
    );
  }
  return { signingKeys: used, unadopted, mac: findMacKey(session) };
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
 * Finds the oldest MAC key that the token generated. Throws KeyringError if there is none, or if
 * two such keys have the label of the oldest.
 */
export function findMacKey(session: Session): StoredKey<'mac'> {
  const [oldest, next] = findKeysOf(session, 'mac').filter(({ imported }) => !imported);
  if (oldest === undefined) throw new KeyringError('the token holds no mac key');
  if (oldest.generation === next?.generation)
    throw new KeyringError(`the token holds more than one key ${labelOf(oldest)}`);
  return oldest;
}

/**
 * Finds a generation of the key `encryption` that the token generated, by default the newest one
 * that only one key has.
 * Throws KeyringError if the token holds no such key, or several keys of the generation. The
 * session must be logged in: otherwise a token hides its keys.
 */
export function findEncryptionKey(session: Session, generation?: number): MacKey {
  const keys = findKeysOf(session, 'encryption', generation).filter(({ imported }) => !imported);
  const shared = findSharedLabels(keys);
  const key = keys.findLast((each) => !shared.has(labelOf(each)));
  const name = generation === undefined ? 'encryption' : formatKeyLabel('encryption', generation);
  if (key === undefined) throw new KeyringError(`the token does not hold exactly one key ${name}`);
  return key;
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
