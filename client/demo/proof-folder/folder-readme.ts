/** The text that goes with a proof, for whoever is handed the folder. */
export function describeFolder({
  command,
  fingerprint,
}: {
  command: string;
  fingerprint: string;
}): string {
  return `This folder proves that a document was sealed.

  entry.json     what the vault recorded, in canonical JSON (RFC 8785)
  signature.der  the signature of the vault's HSM over it: ECDSA P-256 with SHA3-256
  key.pem        the public key
  proof.json     the same three and the SHA3-256 of the entry, as the vault hands them out

To check the signature run OpenSSL 3 in this folder. It must say "Verified OK":

  ${command}

What OpenSSL alone cannot know:

- Whose key this is. It is the vault's only if the vault publishes this fingerprint elsewhere too:
  ${fingerprint}
  which is what this prints of the key here:
  openssl pkey -pubin -in key.pem -outform DER | openssl dgst -sha256
- When it was. The time in the entry is the vault's word; the signature shows that it was not
  changed since.
- What the document says. data.fileHash in the entry is the SHA3-256 of the encrypted file: whoever
  holds that file and its key can show which text it is.
- What else happened. A signature speaks for this entry alone, not for others that may be missing.
`;
}
