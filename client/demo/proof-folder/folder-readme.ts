/** Returns the README that goes with an audit proof, for anyone who receives the folder. */
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
  proof.json     all of this and the SHA3-256 of the entry, as the vault returns it

To verify the signature, run OpenSSL 3 in this folder. It must print "Verified OK":

  ${command}

What OpenSSL alone cannot tell:

- Whose key this is. It is the vault's only if the vault publishes this fingerprint elsewhere too:
  ${fingerprint}
  This command prints the fingerprint of key.pem:
  openssl pkey -pubin -in key.pem -outform DER | openssl dgst -sha256
- When it was sealed. The time in the entry is what the vault states; the signature only shows that
  it was not changed since.
- What the document says. data.fileHash in the entry is the SHA3-256 of the encrypted file. Anyone
  who has that file and its key can show the text.
- What else happened. The signature covers this entry alone; other entries may be missing.
`;
}
