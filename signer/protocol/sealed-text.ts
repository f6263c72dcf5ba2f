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
  const following = canonicalMembers(
    Object.entries(entry).filter(([name]) => name > lastUntouched),
  );
  const replaced = joinMembers(following).length;
  const added = canonicalMembers(Object.entries({ ...(late ? { late } : {}), sealedAt }));
  return `${text.slice(0, text.length - replaced)}${joinMembers([...following, ...added])}`;
}

/** Returns the names of members with their canonical texts. */
function canonicalMembers(
  members: readonly [name: string, value: unknown][],
): [name: string, text: string][] {
  return members.map(([name, value]) => [name, `${JSON.stringify(name)}:${canonicalize(value)}`]);
}

/** Returns the canonical text of an object with these members, without its first brace. */
function joinMembers(members: readonly [name: string, text: string][]): string {
  const sorted = members.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `${sorted.map(([, text]) => text).join(',')}}`;
}
