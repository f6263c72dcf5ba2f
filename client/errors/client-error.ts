/** What can go wrong on this side of the wire; the server's answers are `VaultError`s. */
export type ClientErrorCode =
  | 'authentication_failed'
  | 'device_unreachable'
  | 'devices_changed'
  | 'file_hash_mismatch'
  | 'file_too_large'
  | 'invalid_device_info'
  | 'invalid_envelope'
  | 'invalid_file'
  | 'invalid_keyring'
  | 'invalid_leaf'
  | 'invalid_metadata'
  | 'invalid_public_value'
  | 'invalid_response'
  | 'invalid_share'
  | 'keyring_full'
  | 'metadata_mismatch'
  | 'network_error'
  | 'recipient_refused'
  | 'recovery_changed'
  | 'recovery_words_differ'
  | 'recovery_words_incomplete'
  | 'recovery_words_invalid'
  | 'recovery_words_unknown'
  | 'resume_in_use'
  | 'server_proof_invalid'
  | 'session_ended'
  | 'share_not_found'
  | 'source_changed'
  | 'store_blocked'
  | 'store_closed'
  | 'store_damaged'
  | 'store_deleted'
  | 'store_full'
  | 'store_in_use'
  | 'store_newer'
  | 'store_of_another_user'
  | 'store_unavailable'
  | 'version_conflict'
  | 'version_not_found'
  | 'wrong_key';

const messages: Record<ClientErrorCode, string> = {
  authentication_failed: 'The encrypted file was changed, reordered or cut short.',
  device_unreachable: 'A new master key would shut this session’s own device out.',
  devices_changed: 'Devices were added or revoked meanwhile: look at them again.',
  file_hash_mismatch: 'The server has other bytes than the ones that were stored.',
  file_too_large: 'The file does not fit the limits of the vault.',
  invalid_device_info: 'What is told of the device does not open: wrong key or damaged data.',
  invalid_envelope: 'The key envelope does not open: wrong password or damaged envelope.',
  invalid_file: 'This is no file encrypted by the vault, or one of an unknown version.',
  invalid_keyring: 'The keyring does not open: wrong key or damaged data.',
  invalid_leaf: 'A field of the object does not open: it is of another place or damaged.',
  invalid_metadata: 'The encrypted metadata does not open: wrong key or damaged data.',
  invalid_public_value: 'The server sent a public value that SRP forbids.',
  invalid_response: 'The server sent an answer of an unexpected shape.',
  invalid_share: 'The share does not open: it was made for another key or is damaged.',
  keyring_full: 'The keyring has no room for another master key.',
  metadata_mismatch:
    'The metadata tells of another file: a version came without its own, or it is another document’s.',
  network_error: 'The server could not be reached.',
  recipient_refused: 'The fingerprint of the recipient was not confirmed.',
  recovery_changed: 'The recovery words were changed at the same time.',
  recovery_words_differ: 'Other recovery words were typed than the ones that were shown.',
  recovery_words_incomplete: 'Recovery takes 24 words.',
  recovery_words_invalid:
    'These words do not belong together: one is wrong, or two changed places.',
  recovery_words_unknown: 'Some of the recovery words are not on the list.',
  resume_in_use: 'Another upload of this file is running.',
  server_proof_invalid: 'The server does not know the verifier of this account.',
  session_ended: 'The session has ended: log in again.',
  share_not_found: 'Nothing is shared with this user under this id, or not any more.',
  source_changed: 'The file changed while it was read.',
  store_blocked: 'This store did not open or go away in time: close other tabs that have it.',
  store_closed: 'This store was closed: open it again.',
  store_damaged: 'What this store keeps cannot be read; copy it before you begin anew.',
  store_deleted: 'This store was deleted elsewhere, with all that was in it.',
  store_full: 'This device has no room for more; what was saved before is still there.',
  store_in_use: 'Another client uses this store.',
  store_newer: 'A newer version of the application has this store: load the page anew.',
  store_of_another_user: 'This store is another user’s, or of a master key that is not known here.',
  store_unavailable: 'The browser does not let this store be opened or used.',
  version_conflict: 'The document has changed since: read it again.',
  version_not_found: 'The document has no such version.',
  wrong_key: 'The file was encrypted under another key.',
};

export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: ClientErrorCode;

  constructor(code: ClientErrorCode, options?: ErrorOptions) {
    super(messages[code], options);
    this.code = code;
  }
}
