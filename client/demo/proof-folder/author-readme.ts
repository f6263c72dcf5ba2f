import type { FolderEntry } from './folder-entry.ts';

const anAccount = `An account is not a person: whoever knows the password, or has a device of the account, acts in its
name.`;

/** Returns the section of the README.txt on the author of a seal. */
export function describeAuthor({ hasStatement }: FolderEntry): string {
  if (!hasStatement) {
    return `3. What the author proves: nothing

No statement of the author is in the entry. That this user wanted the seal is the vault's word.
${anAccount}`;
  }
  return `3. What the author proves: a key of the account wanted this seal

data.author in the entry holds a statement, its signature and the public key that verifies it. The
key is that of a person only if this person tells you its fingerprint, not through the vault.
${anAccount}`;
}
