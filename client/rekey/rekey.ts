import { randomBytes } from '@noble/hashes/utils.js';
import type { AccountDependencies } from '../accounts/change-password.ts';
import { createCredential } from '../accounts/credential.ts';
import { reauthenticate } from '../accounts/reauth.ts';
import { replaceCredentials, type Rekeyed } from '../accounts/replace-credentials.ts';
import { encodeBase64 } from '../bytes/base64.ts';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import type { FreshProof } from '../http/fresh-proof.ts';
import { keyBytes } from '../crypto/key.ts';
import type { Device, Devices } from '../devices/devices.ts';
import { createRekeyKeyPair, wrapForDevice } from '../keys/device-key.ts';
import type { KeyLook } from '../keys/key-look.ts';
import { sealKeyring, type Keyring, type RekeyList } from '../keys/keyring.ts';
import { generationOf, listMasterKeys, type NumberedKey } from '../keys/master-keys.ts';
import { passwordMethod, recoveryWords } from '../login/login-method.ts';
import { compareRecoveryWords, createRecoveryWords } from '../recovery/recovery-words.ts';
import { wrapIdentity, type Identities, type WrappedIdentity } from '../identity/identities.ts';
import { signPublication } from '../identity/publication.ts';
import { createIdentity, type Identity } from '../identity/identity.ts';
import type { ReadNames } from '../identity/account-names.ts';
import type { OpenDependencies } from '../documents/open-document.ts';
import type { Records } from '../memory/exchange/records.ts';
import { removeAllBut, writeRekeyList } from '../memory/exchange/rekey-list.ts';
import { hasCode, VaultError } from '../errors/vault-error.ts';
import type { LeftOut } from './left-out.ts';
import { listStates } from './list-documents.ts';
import { listObjects } from './list-objects.ts';

export type RekeyOptions = {
  readonly password: string;
  /** Ids of devices that are to lose their access. */
  readonly revoke?: readonly string[];
} & (
  | { readonly newPassword: string }
  /** The password then opens the new master key as well, also for others who know it. */
  | { readonly keepPassword: true }
);

/** A prepared rekey with a new master key, which takes effect once `confirm` succeeds. */
export interface RekeyDraft {
  /**
   * The new recovery words, 24, for the user to write down. Earlier recovery words stop working
   * with the rekey.
   */
  readonly words: string;
  /** Devices that will open the new master key with their own keys. */
  readonly kept: readonly Device[];
  /**
   * Devices that will be revoked: those named in `revoke`, those without a public key, and those
   * that the user revoked before but the vault lists again.
   */
  readonly revoked: readonly Device[];
  /**
   * Compares `words` with the words that the user typed from paper, then carries out the rekey;
   * other login sessions end. Throws RecoveryWordsError before anything is sent; devices_changed if
   * the account's devices are no longer those of `kept` and `revoked`; keyring_full; what
   * `reauthenticate` throws; and RolledBackError, since all documents are listed under the new
   * keys. So are the synchronised objects, in a session that is bound to a device. If the call
   * fails, some devices of `revoked` may have been revoked, and the account has either all old keys
   * or all new keys.
   *
   * Resolves with what is not listed, for the user: nothing that an earlier master key made is
   * believed afterwards unless it is listed. `Memory.forgetDocument` believes a document, and a
   * device that knows an object confirms it.
   */
  confirm(typedWords: string): Promise<readonly LeftOut[]>;
}

export interface RekeyDependencies extends AccountDependencies, OpenDependencies {
  readonly records: Records;
  readonly devices: Pick<Devices, 'list' | 'revoke' | 'current'>;
  readonly identities: Pick<Identities, 'openReplaceable'>;
  readonly readNames: ReadNames;
  readonly lookAtKeys: () => KeyLook;
}

/**
 * Prepares a rekey. Throws device_unreachable if this session's own device would be revoked, and
 * TypeError if the new password is the present one.
 */
export async function draftRekey(
  dependencies: RekeyDependencies,
  options: RekeyOptions,
): Promise<RekeyDraft> {
  if ('newPassword' in options && options.newPassword === options.password) {
    throw new TypeError('The new password is the present one: pass keepPassword to keep it.');
  }
  const words = createRecoveryWords();
  const { kept, revoked } = await planDevices(dependencies, options);
  return {
    words,
    kept,
    revoked,
    async confirm(typedWords) {
      compareRecoveryWords(words, typedWords);
      return rekey(dependencies, options, { words, kept, revoked });
    },
  };
}

type Plan = Pick<RekeyDraft, 'words' | 'kept' | 'revoked'>;

async function rekey(
  dependencies: RekeyDependencies,
  options: RekeyOptions,
  { words, ...shown }: Plan,
): Promise<readonly LeftOut[]> {
  const { email, envelopes, identities, readNames } = dependencies;
  const { password } = options;
  const newPassword = 'newPassword' in options ? options.newPassword : password;
  const { reauthToken } = await reauthenticate(dependencies, { email, password });
  const present = await planDevices(dependencies, options);
  if (
    idsOf(present.kept) !== idsOf(shown.kept) ||
    idsOf(present.revoked) !== idsOf(shown.revoked)
  ) {
    throw new ClientError('devices_changed');
  }
  const keyring = await envelopes.openKeyring();
  const look = dependencies.lookAtKeys();
  const proof = { reauthToken };
  const earlierKeys = listMasterKeys(keyring);
  const { all: earlierIdentities, predecessor } = await identities.openReplaceable();
  const names = await readNames();
  const masterKey = randomBytes(keyBytes);
  const made = { masterKey, generation: generationOf({ earlierKeys }) };
  try {
    const identity = await createIdentity();
    const { documents, ...shownDocuments } = await listStates(dependencies, keyring);
    const { objects, ...shownObjects } = await listObjects(dependencies, keyring);
    const list = await writeRekeyList(
      dependencies.records,
      { keys: { masterKey, earlierKeys }, identity },
      { documents, objects },
    );
    const before = { earlierKeys, earlierIdentities, list };
    const signatures = signPublication(names, identity, predecessor);
    const wrapped = await wrapAnew({ ...made, identity }, before, { words, kept: present.kept });
    const rekeyed = { ...wrapped, identity: { ...wrapped.identity, ...signatures } };
    const credential = await createCredential(passwordMethod, newPassword, made);
    for (const { deviceId } of present.revoked) {
      await revokeListed(dependencies, deviceId, proof);
    }
    await replaceCredentials(dependencies, { credential, reauthToken }, rekeyed);
    await look.sawMasterKeys({ masterKey, earlierKeys, list }, 'password');
    await tidy(dependencies.records, list, proof);
    return [...shownDocuments.leftOut, ...shownObjects.leftOut];
  } catch (cause) {
    if (!hasCode(cause, 'rekey_incomplete')) throw cause;
    throw new ClientError('devices_changed', { cause });
  } finally {
    wipe(masterKey, ...earlierKeys);
  }
}

/** Removes the records that the rekey replaced. If it fails, they stay, and nobody reads them. */
async function tidy(records: Records, list: RekeyList, proof: FreshProof): Promise<void> {
  try {
    await removeAllBut(records, list, proof);
  } catch (error) {
    if (!(error instanceof ClientError) && !(error instanceof VaultError)) throw error;
  }
}

/**
 * Divides the devices that the vault lists. One that the user is known to have revoked loses its
 * access, whatever the vault says of it.
 */
async function planDevices(
  { devices, memory }: Pick<RekeyDependencies, 'devices' | 'memory'>,
  { revoke = [] }: RekeyOptions,
): Promise<{ readonly kept: Device[]; readonly revoked: Device[] }> {
  const named = new Set(revoke.map((deviceId) => deviceId.toLowerCase()));
  const kept: Device[] = [];
  const revoked: Device[] = [];
  for await (const device of devices.list()) {
    const isGone = named.has(device.deviceId) || (await memory.isRevoked(device.deviceId));
    const isKept = device.publicKey !== undefined && !isGone;
    (isKept ? kept : revoked).push(device);
  }
  // Revoking the session's own device would end the session in the middle of the rekey.
  if (revoked.some(({ isCurrent }) => isCurrent)) throw new ClientError('device_unreachable');
  return { kept, revoked };
}

/** Revokes a device that the vault lists; one that was revoked before may be gone already. */
async function revokeListed(
  { devices, memory }: Pick<RekeyDependencies, 'devices' | 'memory'>,
  deviceId: string,
  proof: FreshProof,
): Promise<void> {
  const isKnown = await memory.isRevoked(deviceId);
  try {
    await devices.revoke(deviceId, { proof });
  } catch (error) {
    if (!isKnown || !hasCode(error, 'not_found')) throw error;
  }
  await memory.revokedDevice(deviceId);
}

function idsOf(devices: readonly Device[]): string {
  return devices.map(({ deviceId }) => deviceId).join();
}

/** The keys of a rekey. Whoever knows the earlier master key knows the earlier identity. */
interface MadeKeys extends NumberedKey {
  readonly identity: Identity;
}

/**
 * Wraps the new master key for the recovery words and for each kept device, and encrypts the new
 * identity, and the earlier master keys and identities, under it.
 */
async function wrapAnew(
  made: MadeKeys,
  { earlierKeys, earlierIdentities, list }: Omit<Keyring, 'publicKeys'>,
  { words, kept }: Pick<Plan, 'words' | 'kept'>,
): Promise<Omit<Rekeyed, 'identity'> & { readonly identity: WrappedIdentity }> {
  const recovery = await createCredential(recoveryWords, words, made);
  wipe(recovery.envelopeKey);
  const rekeyPair = createRekeyKeyPair();
  const publicKeys = new Map<string, Bytes>();
  const devices = [];
  for (const { deviceId, publicKey } of kept) {
    if (publicKey === undefined) continue;
    publicKeys.set(deviceId, publicKey);
    const envelope = await wrapForDevice(rekeyPair, { deviceId, publicKey }, made);
    devices.push({ deviceId, encryptedEnvelope: encodeBase64(envelope) });
  }
  wipe(rekeyPair.privateKey);
  const { masterKey } = made;
  const keys = { masterKey, rekeyKey: rekeyPair.publicKey };
  return {
    recovery: {
      encryptedEnvelope: recovery.encryptedEnvelope,
      recoverySalt: recovery.salt,
      recoveryVerifier: recovery.verifier,
    },
    devices,
    keyring: await sealKeyring(keys, { earlierKeys, earlierIdentities, publicKeys, list }),
    identity: await wrapIdentity(masterKey, made.identity),
  };
}
