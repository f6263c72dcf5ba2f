/** Returns the text of the README.txt in a proof folder, for anyone who receives the folder. */
export function describeFolder({
  command,
  fingerprint,
}: {
  readonly command: string;
  readonly fingerprint: string;
}): string {
  return `This folder proves that a document was sealed.

  entry.json     what the vault recorded, in canonical JSON (RFC 8785)
  signature.der  the signature of the vault's HSM over entry.json: ECDSA P-256 with SHA3-256
  key.pem        the public key of the HSM
  proof.json     the vault's audit proof: all of the above and the SHA3-256 of the entry

To verify the signature, run OpenSSL 3 in this folder. It must print "Verified OK":

  ${command}

What OpenSSL alone cannot show:

- Who owns key.pem. It is the vault's key only if the vault publishes this fingerprint elsewhere:
  ${fingerprint}
  This command prints the fingerprint of key.pem:
  openssl pkey -pubin -in key.pem -outform DER | openssl dgst -sha256
- When the document was sealed. The time in the entry is a statement of the vault; the signature
  only shows that the time was not changed afterwards.
- What the document says. data.fileHash in the entry is the SHA3-256 of the encrypted file. Anyone
  who has that file and its key can show the text.
- What else happened. The signature covers only this entry; the vault may have other entries.
`;
}
