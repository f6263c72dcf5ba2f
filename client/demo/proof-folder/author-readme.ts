import type { FolderEntry } from './folder-entry.ts';

const anAccount = `An account is not a person: whoever knows the password, or has a device of the
account, acts in its name.`;

const command = [
  'openssl pkeyutl -verify -rawin -pubin -inkey author-key.pem',
  '-in author-statement.bin -sigfile author-signature.bin',
].join(' ');

/** Returns the section of the README.txt on the author of a seal. */
export function describeAuthor({ author }: FolderEntry): string {
  if (author.standing === 'vault_word' || author.standing === 'invalid') {
    return `3. What the author proves: nothing

No statement of the author is in the entry. That this user wanted the seal is the vault's word.
${anAccount}`;
  }
  return `3. What the author proves: the owner of a key stated this seal

  ${command}

This must print "Signature Verified Successfully". author-statement.bin is data.author.statement of
the entry, after a label; it says what was sealed, and was stated at ${author.statedAt}
by the author's own clock. That the key is the user's is the vault's word, unless you have this
fingerprint of it from elsewhere: from the author, or from somebody who confirmed the author's keys.
Name it to the script, after the fingerprint of key.pem; identity-changes.json has the proofs of the
changes of the author's keys.

  ${author.fingerprint}

${anAccount}`;
}
