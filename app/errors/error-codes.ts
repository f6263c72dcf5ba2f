import { accessErrors } from './access-errors.ts';
import { kind, passing, type ErrorKind } from './error-kind.ts';
import { serverErrors } from './server-errors.ts';

/** All error codes of the API. Codes are stable: clients must branch on them, never on messages. */
const kinds = {
  validation_failed: kind(
    400,
    'The request does not match its schema; correct the fields that `details` lists.',
  ),
  invalid_json: kind(
    400,
    'The body is not JSON in UTF-8, or breaks a rule that `details` states; correct the body.',
  ),
  invalid_request: kind(400, 'The request line or a header is malformed; correct it.'),
  password_forbidden: kind(
    400,
    'A password must never be sent to this service; send SRP values instead.',
  ),
  invalid_public_value: kind(
    400,
    'The SRP public value A is not valid; send hex digits with 1 < A < N - 1.',
  ),
  raw_keys_refused: kind(
    400,
    'Unwrapped keys are not accepted; wrap the key and send it as `encryptedEnvelope`.',
  ),
  rekey_incomplete: kind(
    400,
    'A new master key needs `recovery`, `keyring`, and in `devices` each active device and no ' +
      'other device; send all three.',
  ),
  invalid_key_length: kind(
    400,
    'The key or envelope has the wrong length; send the length that its schema states.',
  ),
  invalid_code: kind(
    400,
    'The one-time code is wrong or was used already; enter the code that the authenticator shows ' +
      'now, and check its clock.',
  ),
  identity_unproven: kind(
    400,
    'A signature of the identity is missing or wrong (see `details`); sign its keys for this ' +
      'account with the private keys that belong to them.',
  ),
  statement_invalid: kind(
    400,
    'The author’s statement does not say what is being done, or its signature is not by your ' +
      'present identity (see `details`); state what you do and sign that.',
  ),
  stored_file_not_found: kind(
    400,
    'You have no completed upload at this path that is still unused; complete an upload first.',
  ),
  invalid_part_number: kind(
    400,
    'The part number is above the `totalParts` of the upload session; send a lower part number.',
  ),
  invalid_part_size: kind(
    400,
    'With a part of this size the parts cannot add up to the file size; send a size that ' +
      '`details` states.',
  ),
  parts_cannot_fit: kind(
    400,
    'The recorded parts cannot add up to the file size any more (see `details`); abort the ' +
      'upload session and open a new one.',
  ),
  schema_version_unsupported: kind(
    400,
    'X-Schema-Version is not in the range that the response header X-Schema-Version-Supported ' +
      'gives; send a version of that range.',
  ),
  data_too_deep: kind(400, 'The data is nested deeper than 32 levels; flatten it.'),
  data_too_large: kind(400, 'The canonical text of the data is over 512 KiB; split the object.'),
  too_many_fields: kind(400, 'The data has over 10 000 fields; split the object.'),
  paths_too_long: kind(
    400,
    'The JSON Pointers of the fields are over 1 MiB in total; split the object.',
  ),
  number_out_of_range: kind(
    400,
    'A number is beyond 2^53 - 1, where JSON is not exact; send it as text.',
  ),
  client_gone: kind(400, 'The client disconnected before the response; send the request again.'),
  incomplete_body: kind(400, 'The body ended before its declared length; send the request again.'),
  digest_mismatch: kind(
    400,
    'The body does not match Content-Digest; recompute the digest and send both again.',
  ),
  user_context_missing: kind(
    400,
    'The access token names no tenant; use a token that names a tenant.',
  ),
  invalid_parts: kind(
    400,
    'Parts are missing; send the parts that `details` lists, then complete the upload again.',
  ),
  mime_type_not_allowed: kind(
    400,
    'Files of this MIME type are not allowed; declare a MIME type that `details` lists.',
  ),
  file_too_large: kind(400, 'The file is larger than allowed; upload a smaller file.'),
  invalid_form: kind(400, 'The form is not valid; correct the fields that `details` lists.'),
  invalid_total_parts: kind(
    400,
    'No allowed part size fits this number of parts; choose `totalParts` as `details` states.',
  ),
  job_not_failed: kind(
    400,
    'The job has not failed, or was retried already; only failed jobs can be retried.',
  ),
  job_not_retryable: kind(
    400,
    'The job failed for good, so that another try would fail too; correct what `error` names and ' +
      'submit a new job.',
  ),
  job_retries_used_up: kind(
    400,
    'The job was retried three times already; correct what `error` names and submit a new job.',
  ),
  ...accessErrors,
  not_found: kind(404, 'No such resource, or you have no access to it.'),
  user_not_found: kind(404, 'No active account has this e-mail address; check its spelling.'),
  proof_not_ready: passing(404, 'The entry is recorded but not signed yet; try again soon.'),
  method_not_allowed: kind(
    405,
    'This path does not support this method; use a method that the Allow header lists.',
  ),
  duplicate_hash: kind(
    409,
    'You already have a document with this content; use the existing document.',
  ),
  document_exists: kind(409, 'A document has or had this id; choose another random id.'),
  document_sealed: kind(
    409,
    'The document is sealed: it cannot be changed, and only an administrator can delete it.',
  ),
  document_expired: kind(409, 'The document expired before it was sealed; upload the file again.'),
  too_many_versions: kind(
    409,
    'The document has the maximum number of versions; create a new document.',
  ),
  stored_file_changed: kind(
    409,
    'The stored file changed after the vault computed its hash; upload the file again.',
  ),
  sync_conflict: kind(
    409,
    'Another device changed the object; resolve the conflict by `conflictType` and `fields`.',
  ),
  object_exists: kind(409, 'An object has or had this id; choose another id.'),
  sync_request_reused: kind(
    409,
    'The X-Sync-Request-Id was used for another request; send a new id.',
  ),
  mfa_already_enabled: kind(409, 'MFA is enabled already; disable it before you set it up anew.'),
  mfa_not_enabled: kind(409, 'MFA is not enabled; set it up first.'),
  mfa_not_pending: kind(409, 'No set-up of MFA has begun; begin one.'),
  memory_conflict: kind(409, 'The writer has this number or a higher one; read its records again.'),
  envelope_exists: kind(409, 'The envelope already exists; use or replace the existing envelope.'),
  share_exists: kind(
    409,
    'The document is already shared with this recipient; revoke the existing share to change it.',
  ),
  part_conflict: kind(
    409,
    'This part was stored with other content; open a new upload session to upload other content.',
  ),
  part_in_progress: passing(
    409,
    'Another request is uploading this part; wait until that request ends.',
  ),
  session_closed: kind(409, 'The upload session is no longer open; open a new upload session.'),
  completion_in_progress: passing(409, 'Another request is completing the upload; try again soon.'),
  session_completed: kind(409, 'The upload session is already completed and cannot be aborted.'),
  idempotency_key_reused: kind(
    409,
    'The Idempotency-Key was used for another request; send a new key.',
  ),
  idempotency_in_progress: passing(
    409,
    'The request with this Idempotency-Key is still running; try again soon.',
  ),
  key_not_published: passing(
    409,
    'The signing key has not been published for long enough; try again later.',
  ),
  key_retired: kind(409, 'The signing key is retired and cannot sign again; create a new key.'),
  key_in_use: kind(
    409,
    'The signing key is active; activate its successor instead, which retires this key.',
  ),
  key_not_lost: kind(
    409,
    'The HSM token of this signer still holds the active key; activate without `predecessorLost`.',
  ),
  key_not_in_token: kind(
    409,
    'The HSM token of this signer does not hold the signing key; create a new key.',
  ),
  key_compromised: kind(
    409,
    'The signing key is compromised since an earlier instant already, which stays.',
  ),
  successor_required: kind(
    409,
    'The signing key is active; name the created key that takes its place as `successor`.',
  ),
  successor_not_ready: kind(
    409,
    'The successor must be a created key of the same purpose, held by the token of this signer.',
  ),
  key_generation_differs: kind(
    409,
    'The generation is neither that of the next key of the purpose nor that of a key that exists.',
  ),
  key_label_taken: kind(
    409,
    'Another signing key has the same purpose and generation; import the key under another label.',
  ),
  escrow_not_configured: kind(
    409,
    'No offline key is configured; set KEYS_ESCROW_PUBLIC_KEY_FILE and start the app again.',
  ),
  retry_in_progress: passing(409, 'This entry is being signed again right now; try again soon.'),
  entry_not_dead: kind(
    409,
    'The entry was already recovered or abandoned; choose an entry in the dead-letter queue.',
  ),
  entry_unrecoverable: kind(
    410,
    'The entry was abandoned and will never be signed; see its tombstone, the entry `proofId`.',
  ),
  maintenance_running: passing(
    409,
    'This maintenance task is already running; wait until it ends.',
  ),
  entry_erased: kind(410, 'The text of this entry was erased; its hash and signature remain.'),
  entry_archived: kind(
    410,
    'The month of this entry is archived outside of the vault. Ask its operator for it.',
  ),
  export_expired: kind(
    410,
    'The archive of this job was removed; submit another job for a new one.',
  ),
  mfa_expired: kind(410, 'The set-up of MFA has expired; begin a new one.'),
  session_expired: kind(410, 'The upload session has expired; open a new upload session.'),
  request_timeout: kind(408, 'The request did not arrive in time; send it again.'),
  precondition_failed: kind(
    412,
    'The resource has changed since it was read; read it again and send its new ETag.',
  ),
  precondition_required: kind(
    428,
    'The If-Match header is missing; send the ETag of the state that you have read.',
  ),
  length_required: kind(411, 'The Content-Length header is missing; send the length of the body.'),
  body_too_large: kind(413, 'The body is larger than this route accepts; send a smaller body.'),
  multipart_required: kind(415, 'The body must be multipart/form-data without a content encoding.'),
  unsupported_media_type: kind(415, 'The body must be application/json in UTF-8.'),
  range_not_satisfiable: kind(
    416,
    'The file has none of the requested bytes; request a range within its size.',
  ),
  headers_too_large: kind(431, 'The headers are over 16 KiB or 200 lines; shorten them.'),
  quota_exceeded: kind(
    429,
    'The account has reached a limit of its plan, which `details` names; remove something of ' +
      'this kind, or get a larger plan.',
  ),
  too_many_feeds: kind(
    429,
    'You have the maximum number of event streams of this kind open; close one of them.',
  ),
  rate_limited: kind(
    429,
    'Too many attempts; try again after the number of seconds in Retry-After.',
  ),
  ...serverErrors,
} satisfies Readonly<Record<string, ErrorKind>>;

export type ErrorCode = keyof typeof kinds;

export const errorCodes = Object.keys(kinds) as readonly ErrorCode[];

/** Returns the HTTP status and the message of an error code. */
export function describeError(code: ErrorCode): ErrorKind {
  return kinds[code];
}
