/** What can go wrong on this side of the wire; the server's answers are `VaultError`s. */
export type ClientErrorCode =
  | 'authentication_failed'
  | 'file_hash_mismatch'
  | 'file_too_large'
  | 'invalid_envelope'
  | 'invalid_file'
  | 'invalid_metadata'
  | 'invalid_public_value'
  | 'invalid_response'
  | 'invalid_share'
  | 'network_error'
  | 'recipient_refused'
  | 'resume_in_use'
  | 'server_proof_invalid'
  | 'session_ended'
  | 'share_not_found'
  | 'source_changed'
  | 'version_conflict'
  | 'version_not_found'
  | 'wrong_key';

const MESSAGES: Record<ClientErrorCode, string> = {
  authentication_failed: 'The encrypted file was changed, reordered or cut short.',
  file_hash_mismatch: 'The server has other bytes than the ones that were stored.',
  file_too_large: 'The file does not fit the limits of the vault.',
  invalid_envelope: 'The key envelope does not open: wrong password or damaged envelope.',
  invalid_file: 'This is no file encrypted by the vault, or one of an unknown version.',
  invalid_metadata: 'The encrypted metadata does not open: wrong key or damaged data.',
  invalid_public_value: 'The server sent a public value that SRP forbids.',
  invalid_response: 'The server sent an answer of an unexpected shape.',
  invalid_share: 'The share does not open: it was made for another key or is damaged.',
  network_error: 'The server could not be reached.',
  recipient_refused: 'The fingerprint of the recipient was not confirmed.',
  resume_in_use: 'Another upload of this file is running.',
  server_proof_invalid: 'The server does not know the verifier of this account.',
  session_ended: 'The session has ended: log in again.',
  share_not_found: 'Nothing is shared with this user under this id, or not any more.',
  source_changed: 'The file changed while it was read.',
  version_conflict: 'The document has changed since: read it again.',
  version_not_found: 'The document has no such version.',
  wrong_key: 'The file was encrypted under another key.',
};

export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: ClientErrorCode;

  constructor(code: ClientErrorCode, options?: ErrorOptions) {
    super(MESSAGES[code], options);
    this.code = code;
  }
}
