/** Errors that the client itself detects; refusals by the server are `VaultError`s. */
export type ClientErrorCode =
  | 'account_mismatch'
  | 'authentication_failed'
  | 'content_mismatch'
  | 'device_unreachable'
  | 'devices_changed'
  | 'document_mismatch'
  | 'file_hash_mismatch'
  | 'file_too_large'
  | 'folder_not_empty'
  | 'invalid_device_info'
  | 'invalid_envelope'
  | 'invalid_file'
  | 'invalid_keyring'
  | 'invalid_leaf'
  | 'invalid_metadata'
  | 'invalid_opening'
  | 'invalid_public_value'
  | 'invalid_response'
  | 'invalid_share'
  | 'history_mismatch'
  | 'identity_incomplete'
  | 'identity_outdated'
  | 'identity_taken'
  | 'keyring_full'
  | 'keyword_mismatch'
  | 'master_key_outdated'
  | 'metadata_mismatch'
  | 'network_error'
  | 'not_sealed'
  | 'object_unlisted'
  | 'recipient_key_changed'
  | 'recipient_refused'
  | 'recovery_changed'
  | 'recovery_words_differ'
  | 'recovery_words_incomplete'
  | 'recovery_words_invalid'
  | 'recovery_words_unknown'
  | 'rekey_unconfirmed'
  | 'resume_in_use'
  | 'rolled_back'
  | 'document_unlisted'
  | 'seal_invalid'
  | 'server_proof_invalid'
  | 'session_ended'
  | 'share_not_found'
  | 'shares_outdated'
  | 'sharer_key_changed'
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
  | 'version_mismatch'
  | 'version_not_found'
  | 'wrong_key';

const messages: Record<ClientErrorCode, string> = {
  account_mismatch: 'The vault named another account, or another vault, than it did before.',
  authentication_failed: 'The encrypted file was changed, reordered or truncated.',
  content_mismatch: 'The decrypted file is not the one that its metadata describes.',
  device_unreachable:
    'The rekey would revoke the device of this login session: log in without a device first.',
  devices_changed: 'Devices were added or revoked since you reviewed them: prepare a new rekey.',
  document_mismatch: 'The vault sent another document than the one that was asked for.',
  file_hash_mismatch: 'The file in the vault differs from the file that was stored: do not use it.',
  file_too_large: 'The file is larger than the vault accepts.',
  folder_not_empty: 'The folder is not empty: name a new or an empty one.',
  invalid_device_info: 'The device description cannot be decrypted: wrong key or damaged data.',
  invalid_envelope: 'The key envelope cannot be decrypted: wrong password or damaged envelope.',
  invalid_file: 'This is not an encrypted file of the vault, or its format version is unknown.',
  invalid_keyring: 'The keyring cannot be decrypted: wrong key or damaged data.',
  invalid_leaf: 'A field of the object cannot be decrypted: it was moved, forged or damaged.',
  invalid_metadata: 'The metadata cannot be decrypted: wrong key or damaged data.',
  invalid_opening: 'This is no opening of a content commitment, or its format version is unknown.',
  invalid_public_value: 'The server sent a public value that SRP forbids.',
  invalid_response: 'The server sent a response that the client cannot read.',
  invalid_share: 'The share cannot be decrypted: it was made for another key, or it is damaged.',
  history_mismatch: 'The versions of the document do not follow each other: one was exchanged.',
  identity_incomplete: 'The account has no signing key yet: enable sharing once more.',
  identity_outdated:
    'Only an earlier master key opens the identity: enable sharing once more for a new one.',
  identity_taken:
    'The vault showed keys or an id of another person whom you confirmed: compare fingerprints.',
  keyring_full: 'The keyring has no room for another master key.',
  keyword_mismatch: 'The vault found a document that does not have the keywords.',
  master_key_outdated:
    'A rekey replaced this master key: open the master keys again before you write.',
  metadata_mismatch:
    'The metadata describes another file: it belongs to another version or another document.',
  network_error: 'The server could not be reached: check the connection and try again.',
  not_sealed: 'This version is not sealed, or its seal is not signed yet: certify it first.',
  recipient_key_changed:
    'The recipient has other keys than expected: compare fingerprints before you share.',
  recipient_refused: 'The fingerprint of the recipient was not confirmed, so nothing was shared.',
  recovery_changed: 'Another client changed the recovery words at the same time: try again.',
  recovery_words_differ:
    'The typed words are not the recovery words that were shown: check each word.',
  recovery_words_incomplete: 'Type all 24 recovery words.',
  recovery_words_invalid:
    'The recovery words have a wrong checksum: one word is wrong, or two are swapped.',
  recovery_words_unknown: 'Some words are not on the list of recovery words: check their spelling.',
  rekey_unconfirmed:
    'This device was given a new master key: enter the password here to confirm the rekey.',
  resume_in_use: 'Another upload of this file is running.',
  document_unlisted:
    'An earlier master key made the document, and it was not there when that key was replaced.',
  object_unlisted:
    'An earlier master key made a part of the object that was not there when it was replaced.',
  rolled_back: 'The vault sent an older state than one that it sent before: do not trust it.',
  seal_invalid: 'What the vault sent is no valid seal of this version: do not rely on it.',
  server_proof_invalid:
    'The server could not prove that it knows the verifier of this account: do not trust it.',
  session_ended: 'The session has ended: log in again.',
  share_not_found: 'No such share, or it has ended.',
  shares_outdated:
    'The version was added, but its shares were not all made anew: renew them again.',
  sharer_key_changed:
    'Somebody else than expected, or nobody, signed the share: compare fingerprints.',
  source_changed: 'The file changed during the upload: upload it again.',
  store_blocked: 'Other tabs have this store open: close those tabs and try again.',
  store_closed: 'This store was closed: open it again.',
  store_damaged: 'This store cannot be read: make a copy of it, then delete it.',
  store_deleted: 'This store was deleted elsewhere, together with all data in it.',
  store_full: 'This device has no space left: free some space. All earlier changes are saved.',
  store_in_use: 'Another client uses this store: close that client and try again.',
  store_newer: 'A newer version of the application has upgraded this store: reload the page.',
  store_of_another_user:
    'This store belongs to another user, or to a master key that this client does not have.',
  store_unavailable: 'The browser does not allow this store to be opened or used.',
  version_conflict: 'The document has changed since it was read: read it again.',
  version_mismatch: 'The metadata is of another version than the one that was asked for.',
  version_not_found: 'The document has no such version.',
  wrong_key: 'The file was encrypted under another key.',
};

/** An error that the client detects. Program against `code`; the message is for people. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: ClientErrorCode;

  constructor(code: ClientErrorCode, options?: ErrorOptions) {
    super(messages[code], options);
    this.code = code;
  }
}
