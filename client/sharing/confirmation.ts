import type { Metadata } from '../documents/metadata.ts';
import { ClientError } from '../errors/client-error.ts';
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
  readonly names: { readonly email: string; readonly id: string };
  readonly fingerprint: string;
  readonly metadata: Metadata;
}

/**
 * Lets the user confirm a recipient's keys, and remembers that. Throws IdentityError unless they
 * have the expected fingerprint, or with `confirm` the one that the user confirmed before, and
 * recipient_refused if `confirm` resolves with false.
 */
export async function confirmRecipient(
  memory: Memory,
  known: ExpectedKey | ConfirmedKey,
  { names, fingerprint, metadata }: ShownRecipient,
): Promise<void> {
  const person = await memory.person(names.email);
  const remembered = person?.fingerprints[0] ?? fingerprint;
  const expected = 'confirm' in known ? remembered : known.fingerprint;
  if (expected !== fingerprint) {
    throw new IdentityError('recipient_key_changed', { expected, shown: fingerprint });
  }
  if ('confirm' in known && !(await known.confirm(fingerprint, metadata))) {
    throw new ClientError('recipient_refused');
  }
  await memory.confirmedPerson(names, fingerprint);
}

/**
 * Throws IdentityError unless the expected person signed a share: the one that the caller named, or
 * by default the one whose keys the user confirmed before, if any.
 */
export async function confirmSharer(
  memory: Memory,
  { ownerId, sharerFingerprint: shown }: OpenedShare,
  named: string | undefined,
): Promise<void> {
  const confirmed = (await memory.person(ownerId))?.fingerprints ?? [];
  const expected = named ?? confirmed[0];
  if (expected === undefined) return;
  const isExpected = named === undefined ? confirmed.includes(shown ?? '') : named === shown;
  if (!isExpected) throw new IdentityError('sharer_key_changed', { expected, shown });
  if (!confirmed.includes(expected)) await memory.confirmedPerson({ id: ownerId }, expected);
}
