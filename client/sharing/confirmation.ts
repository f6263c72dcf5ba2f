import type { Metadata } from '../documents/metadata.ts';
import { ClientError } from '../errors/client-error.ts';
import { normalizeEmail } from '../login/email.ts';
import { IdentityError } from '../identity/identity-error.ts';
import type { Memory } from '../memory/memory.ts';
import type { OpenedShare } from './received.ts';

/** The fingerprint of the recipient's identity, told over another channel. */
export interface ExpectedKey {
  /** 32 hex digits. */
  readonly fingerprint: string;
}

export interface ConfirmedKey {
  /** Decides whether to share, by the fingerprint of the identity that the vault showed. */
  readonly confirm: (fingerprint: string, metadata: Metadata) => boolean | Promise<boolean>;
}

/** The recipient whom the vault showed, and the metadata of what is to be shared. */
interface ShownRecipient {
  readonly email: string;
  readonly recipientId: string;
  readonly fingerprint: string;
  readonly metadata: Metadata;
}

/**
 * Lets the user confirm a recipient's keys, and remembers that. Throws IdentityError unless they
 * have the expected fingerprint, or with `confirm` the one that the user confirmed before, and if
 * the keys or the id belong to another person; and recipient_refused if `confirm` resolves with
 * false.
 */
export async function confirmRecipient(
  memory: Memory,
  known: ExpectedKey | ConfirmedKey,
  { email, recipientId, fingerprint, metadata }: ShownRecipient,
): Promise<void> {
  const person = await memory.person(email);
  const remembered = person?.fingerprints[0] ?? fingerprint;
  const expected = 'confirm' in known ? remembered : known.fingerprint;
  if (expected !== fingerprint) {
    throw new IdentityError('recipient_key_changed', { expected, shown: fingerprint });
  }
  const owners = [(await memory.whose(fingerprint))?.email, await memory.givenTo(recipientId)];
  assertOnePerson(email, owners, { expected, shown: fingerprint });
  if ('confirm' in known && !(await known.confirm(fingerprint, metadata))) {
    throw new ClientError('recipient_refused');
  }
  await memory.confirmedPerson({ email }, fingerprint);
}

/** Throws IdentityError if the user confirmed what the vault showed as another person's. */
function assertOnePerson(
  email: string | undefined,
  owners: readonly (string | undefined)[],
  fingerprints: Pick<IdentityError, 'expected' | 'shown'>,
): void {
  const owner = owners.find((other) => other !== undefined && other !== email);
  if (owner !== undefined) throw new IdentityError('identity_taken', { ...fingerprints, owner });
}

/** Demands that a certain person signed a share. */
export interface SharerOptions {
  /**
   * The fingerprint of the sharer's identity, 32 hex digits, told over another channel. It is
   * remembered for `email`, and for the share's `ownerId`.
   */
  readonly sharer?: string;
  /** The e-mail address of the sharer. Without `sharer`, the keys confirmed for it are expected. */
  readonly email?: string;
}

/**
 * Verifies who signed a share, and remembers the person whom the caller expects. Throws
 * IdentityError unless the expected person signed it: the one that the caller named, or by default
 * the one whose keys the user confirmed before as this owner's, if any. Keys that a person had
 * before count only for shares that were opened before they were replaced, and for callers that
 * name them. Resolves with the e-mail address under which the user confirmed the signer, if any.
 */
export async function confirmSharer(
  memory: Memory,
  { shareId, ownerId, sharerFingerprint: shown }: OpenedShare,
  { sharer: named, email: givenEmail }: SharerOptions,
): Promise<string | undefined> {
  const email = givenEmail === undefined ? undefined : normalizeEmail(givenEmail);
  const owner = await memory.person(ownerId);
  const person = email === undefined ? owner : await memory.person(email);
  const signer = shown === undefined ? undefined : await memory.whose(shown);
  const isSeen = (await memory.receivedShare(shareId))?.signer === shown;
  const isOfPerson = person?.fingerprints.includes(shown ?? '') === true;
  const expected = named ?? person?.fingerprints[0];
  if (expected !== undefined || email !== undefined) {
    const isEarlier = named === undefined && isSeen && isOfPerson;
    const isExpected = shown !== undefined && (shown === expected || isEarlier);
    if (!isExpected) throw new IdentityError('sharer_key_changed', { expected, shown });
  } else if (signer !== undefined && signer.present !== shown && !isSeen) {
    throw new IdentityError('sharer_key_changed', { expected: signer.present, shown });
  }
  const name = email ?? owner?.email ?? signer?.email;
  assertOnePerson(name, [owner?.email, signer?.email], { expected, shown });
  const isAsked = named !== undefined || email !== undefined;
  const isLinked = isOfPerson && (owner?.email === name || shown !== expected);
  if (isAsked && !isLinked && shown !== undefined) {
    await memory.confirmedPerson({ ownerId, email: name }, shown);
  }
  return shown === undefined ? undefined : (await memory.whose(shown))?.email;
}
