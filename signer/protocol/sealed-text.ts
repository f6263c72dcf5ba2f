import canonicalize from 'canonicalize';

/**
 * The members that the signer adds to an entry before it hashes and signs the text. `sealedAt` is
 * the time by the signer's own clock, UTC with milliseconds. `late` says that it is more than ten
 * minutes after the entry's `timestamp`.
 */
export interface SealMembers {
  readonly sealedAt: string;
  readonly late: boolean;
}

/** The most bytes by which the members of a seal lengthen a text. */
export const sealMembersBytes = 64;

/** The name after which members are added; those before it, among them `data`, stay as they are. */
const lastUntouched = 'issuer';

/**
 * Returns the text that is hashed, signed and published: the appended text of an entry with the
 * members that the signer adds, in RFC 8785 form. `entry` is the parsed text. If the text is not
 * the canonical form of an entry, returns a text that no seal fits.
 */
export function toSealedText(text: string, entry: object, { sealedAt, late }: SealMembers): string {
  const following = Object.fromEntries(
    Object.entries(entry).filter(([name]) => name > lastUntouched),
  );
  const replaced = canonicalMembers(following).length;
  const added = canonicalMembers({ ...following, ...(late ? { late } : {}), sealedAt });
  return `${text.slice(0, text.length - replaced)}${added}`;
}

/** Returns the canonical text of an object without its first brace. */
function canonicalMembers(members: object): string {
  return canonicalize(members)?.slice(1) ?? '';
}
