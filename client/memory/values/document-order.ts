import type { DocumentState, RememberedDocument } from './remembered.ts';

/** Returns whether the vault cannot honestly show a state after the remembered one. */
export function isRolledBack(shown: DocumentState, remembered: RememberedDocument): boolean {
  if ('forgotten' in remembered) return false;
  if ('removed' in remembered) return true;
  const { version, change, metadataHash } = remembered;
  if (shown.version !== version) return shown.version < version;
  if (shown.change !== change) return shown.change < change;
  return shown.metadataHash !== metadataHash;
}

/**
 * Returns whether a value takes the place of another one. What followed an older state that the
 * user accepted is newer than all that was before it, if it was accepted in place of that.
 */
export function isNewer(value: RememberedDocument, known: RememberedDocument | undefined): boolean {
  if (known === undefined) return true;
  const [accepted, before] = [value.accepted ?? 0, known.accepted ?? 0];
  if (accepted !== before) return accepted > before && covers(value, known);
  return isLater(value, known);
}

/** Returns whether an accepted value was accepted in place of another one, or of a later one. */
function covers({ insteadOf }: RememberedDocument, known: RememberedDocument): boolean {
  if (insteadOf === undefined || 'forgotten' in known) return true;
  return !isLater(known, insteadOf);
}

function isLater(value: RememberedDocument, known: RememberedDocument): boolean {
  if ('forgotten' in known) return !('forgotten' in value);
  if ('forgotten' in value || 'removed' in known) return false;
  if ('removed' in value) return true;
  if (value.version !== known.version) return value.version > known.version;
  return value.change > known.change;
}

/** Returns a short text for people. */
export function describeDocument(document: RememberedDocument): string {
  if ('removed' in document) return 'removed by the user';
  if ('forgotten' in document) return 'forgotten by the user';
  const { version, change, metadataHash } = document;
  return `version ${version}, change ${change}, metadata ${metadataHash.slice(0, 16)}`;
}
