interface FolderFacts {
  /** The command that verifies the signature of the entry. */
  readonly command: string;
  /** SHA-256 of the vault's key, 64 hex digits. */
  readonly fingerprint: string;
  /** The vault's name in the entry. */
  readonly issuer: string;
  /** The author as the entry shows it; undefined if it holds no statement. */
  readonly author: { readonly fingerprint: string; readonly statedAt: string } | undefined;
}

/** Returns the text of the README.txt in a proof folder, for anyone who receives the folder. */
export function describeFolder(facts: FolderFacts): string {
  return [introduction, ofHsm(facts), ofVault(facts), ofAuthor(facts), ofReader].join('\n');
}

const introduction = `This folder proves that a file was sealed: when, in which vault, and by whom.

All of it at once: put the original beside this folder, and run in this folder, with a POSIX shell
and OpenSSL 3,

  sh verify-original.sh FILE KEY_FINGERPRINT AUTHOR_FINGERPRINT

Its last line must be "this file is what was sealed". The fingerprints may be left out; the script
then says what it takes on trust. What follows says who proves what, and how to check each part by hand.
`;

const ofHsm = ({
  command,
  fingerprint,
}: FolderFacts) => `1. THE HSM: this entry was signed, and has not changed since

  entry.json     what the vault recorded, in canonical JSON (RFC 8785)
  signature.der  the signature of the vault's HSM over entry.json: ECDSA P-256 with SHA3-256
  key.pem        the public key of the HSM
  proof.json     all of the above and the SHA3-256 of the entry

  This must print "Verified OK":
  ${command}
  This must print the entryHash of proof.json:
  openssl dgst -sha3-256 entry.json

  Whose key that is, the folder cannot show. It is the vault's only if the vault publishes this
  fingerprint elsewhere:
  ${fingerprint}
  This prints the fingerprint of key.pem:
  openssl pkey -pubin -in key.pem -outform DER | openssl dgst -sha256
`;

const ofVault = ({ issuer }: FolderFacts) => `2. THE VAULT: its word for what it recorded

  The vault calls itself ${issuer}.
  That the entry was made at "timestamp", for the account "owner", as number "seq" of this document,
  is the word of the vault. "sealedAt" is the time by the clock of its signer. The vault may hold other
  entries of the document; this folder has one.
`;

function ofAuthor({ author }: FolderFacts): string {
  const title = '3. THE AUTHOR: who says to have sealed it';
  if (author === undefined) {
    return `${title}

  The entry holds no statement of its author. That the user "actor" sealed the document is the
  vault's word.
`;
  }
  return `${title}

  author-statement.bin  what the author signed: the text in "statement" of entry.json, after a label
  author-signature.bin  the author's signature: Ed25519
  author-key.pem        the author's public key
  identity-changes.json audit proofs of the changes of the author's keys, if they changed

  This must print "Signature Verified Successfully":
  openssl pkeyutl -verify -rawin -pubin -inkey author-key.pem -in author-statement.bin \\
    -sigfile author-signature.bin

  Whoever has the private key stated this, at ${author.statedAt} by their own clock.
  Whose key it is, is the vault's word, unless you have its fingerprint from elsewhere: from the
  author, or from somebody with whom the author shared documents:
  ${author.fingerprint}
  An account is not a person: others may know its password or have its device.
`;
}

const ofReader = `4. YOUR OWN COMPARISON: which file it is

  opening.json, opening.txt  the values that open "contentCommitment" in the entry for this file

  This must print the "sha256" of opening.json:
  openssl dgst -sha256 FILE
  That opening.json belongs to the entry, verify-original.sh computes: the "root" over the parts of
  the file, and from it the contentCommitment.
  "fileHash" in the entry is the SHA3-256 of the encrypted file, which is not in this folder, and
  "metadataHash" that of the encrypted name and keywords.
  What the file shows, and whether it is true, no signature says.
`;
