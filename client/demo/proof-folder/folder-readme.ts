import { describeAuthor } from './author-readme.ts';
import type { FolderEntry } from './folder-entry.ts';

export interface FolderReadme {
  readonly entry: FolderEntry;
  /** The openssl command that verifies the signature. */
  readonly command: string;
  /** Fingerprint of the key in key.pem, 64 hex digits. */
  readonly fingerprint: string;
  /** SHA-256 of the original, 64 hex digits. */
  readonly sha256: string;
}

/** Returns the text of the README.txt in a proof folder, for anyone who receives the folder. */
export function describeFolder({ entry, command, fingerprint, sha256 }: FolderReadme): string {
  return `This folder proves what a file was when it was sealed. You need the file itself, which is
not in this folder, a shell, and OpenSSL 3. Neither the vault nor its software is needed.

  entry.json          what the vault recorded, in canonical JSON (RFC 8785)
  signature.der       the signature of the vault's HSM over entry.json: ECDSA P-256 with SHA3-256
  key.pem             the public key of the HSM
  proof.json          the vault's audit proof: all of the above and the SHA3-256 of the entry
  opening.json        the values that connect the file with the entry, for programs
  opening.txt         the same values, for the script
  author-*            what the author stated, with signature and key, if the author stated it
  verify-original.sh  the script that compares them all; verify-entry.sh and verify-opening.sh are
                      parts of it
  encrypted.bin       the encrypted file, as the vault stores it
  file-key.txt        the key of encrypted.bin; it opens nothing else
  metadata.bin        the encrypted metadata, which nothing in this folder opens

All at once, in this folder:

  sh verify-original.sh FILE ${fingerprint}

It must end with "this file is what was sealed". Each of the following steps shows one part of this.

1. What the HSM proves: nobody has changed the entry since it was signed

  ${command}

This must print "Verified OK". The key is the vault's only if the vault publishes this fingerprint
elsewhere; the command prints the fingerprint of key.pem:

  ${fingerprint}
  openssl pkey -pubin -in key.pem -outform DER | openssl dgst -sha256

The SHA3-256 of the entry, entryHash in proof.json:

  openssl dgst -sha3-256 entry.json

2. What the vault says, and you believe or do not

The vault that signs calls itself ${entry.issuer}.
It says that version ${entry.version} of the document ${entry.documentId}
was sealed at ${entry.timestamp} by its clock, at the wish of the user
${entry.actorId}. The signature shows only that this was not changed
afterwards. An operator of the vault who has the HSM can have any time and any user signed. The
signature covers only this entry; the vault may have others.

${describeAuthor(entry)}

4. What your own comparison proves: the file is what was sealed

data.contentCommitment in the entry is a hash over the file, with random salts, so that nobody
could guess the file from it. The script computes it again from opening.txt, and the hashes in
opening.txt from the file. No trust in the vault is needed for this step. You know the file by its
SHA-256, which is sha256 in opening.txt:

  ${sha256}
  openssl dgst -sha256 FILE

data.fileHash is the SHA3-256 of the encrypted file, of ${entry.size} bytes:

  ${entry.fileHash}
  openssl dgst -sha3-256 encrypted.bin

data.metadataHash is the SHA3-256 of the encrypted metadata, which has the name of the file and
more. The owner alone can open it:

  ${entry.metadataHash}
  openssl dgst -sha3-256 metadata.bin

What nothing here shows: who made the file and when, whether what it says is true, and whether it
was sealed for the first time. A file can be sealed again, by anyone who has it.
`;
}
