/** An error of the API. Its message says what is wrong and what to do, and never echoes input. */
export interface ErrorKind {
  readonly status: number;
  readonly message: string;
}

function kind(status: number, message: string): ErrorKind {
  return { status, message };
}

/** All error codes of the API. Codes are stable: clients must branch on them, never on messages. */
const kinds = {
  validation_failed: kind(400, 'The request does not match its schema; correct what details name.'),
  invalid_json: kind(
    400,
    'The body is not acceptable JSON in UTF-8; correct it, and see details if there are any.',
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
    'Unwrapped keys are not accepted; send the key wrapped, as encryptedEnvelope.',
  ),
  rekey_incomplete: kind(
    400,
    'A new master key needs recovery, keyring and devices: all active ones and no others.',
  ),
  invalid_key_length: kind(
    400,
    'The key or envelope has the wrong length; send the length that its schema states.',
  ),
  stored_file_not_found: kind(
    400,
    'You have no completed upload at this path; complete the upload first.',
  ),
  invalid_part_number: kind(
    400,
    'The part number is above the totalParts of the upload session; send a lower one.',
  ),
  invalid_part_size: kind(
    400,
    'The part is too small or too large; cut the file as the upload session states.',
  ),
  schema_version_unsupported: kind(
    400,
    'X-Schema-Version must be one of X-Schema-Version-Supported; update the client.',
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
  incomplete_body: kind(400, 'The body ended before its declared length; send it again.'),
  digest_mismatch: kind(400, 'The body does not match its Content-Digest; send both again.'),
  user_context_missing: kind(
    400,
    'The access token names no user and tenant; use a token that does.',
  ),
  invalid_parts: kind(
    400,
    'Parts are missing or do not add up to the file size; upload what details name.',
  ),
  mime_type_not_allowed: kind(400, 'Files of this MIME type are not allowed; choose another type.'),
  file_too_large: kind(400, 'The file is larger than allowed; choose a smaller one.'),
  invalid_form: kind(400, 'The form is not valid; correct what details name.'),
  invalid_total_parts: kind(
    400,
    'No allowed part size fits this number of parts; choose another totalParts.',
  ),
  invalid_token: kind(401, 'The access token is missing or not valid; log in again.'),
  token_expired: kind(401, 'The access token has expired; refresh it or log in again.'),
  invalid_issuer: kind(
    401,
    'The issuer of the access token is not trusted; use a token of a trusted issuer.',
  ),
  invalid_audience: kind(
    401,
    'The access token is for another audience; use a token for this service.',
  ),
  invalid_api_key: kind(
    401,
    'The internal API key is missing or unknown; send a valid X-Internal-Api-Key.',
  ),
  invalid_refresh_token: kind(401, 'The refresh token is unknown, used or expired; log in again.'),
  invalid_credentials: kind(
    401,
    'The password is wrong or not of this account; check it and try again.',
  ),
  device_required: kind(
    401,
    'The X-Device-Id is missing; send the id of the device of your session.',
  ),
  reauth_required: kind(401, 'This needs a reauthentication; send its token as X-Reauth-Token.'),
  reauth_expired: kind(401, 'The reauthentication token has expired; reauthenticate.'),
  reauth_invalid: kind(
    401,
    'The reauthentication token is not valid for this request; reauthenticate.',
  ),
  srp_session_expired: kind(
    401,
    'The SRP session is unknown, used or expired; request a new challenge.',
  ),
  invalid_proof: kind(
    401,
    'The login proof is not valid; check the password and request a new challenge.',
  ),
  access_denied: kind(
    403,
    'The token or API key lacks a role, scope or right; use one that has it.',
  ),
  reauth_password_refused: kind(403, 'Passwords are not accepted here; reauthenticate by SRP.'),
  device_unknown: kind(
    403,
    'The device is not yours, or not the one of your session; use that one.',
  ),
  device_blacklisted: kind(403, 'The device was revoked; log in on another one.'),
  not_found: kind(404, 'No such resource, or you have no access to it.'),
  user_not_found: kind(404, 'No active account has this e-mail address; check its spelling.'),
  proof_not_ready: kind(404, 'The entry is recorded but not signed yet; try again soon.'),
  method_not_allowed: kind(
    405,
    'This path does not support this method; use one that Allow names.',
  ),
  duplicate_hash: kind(409, 'You already have a document with this content; use that one.'),
  document_sealed: kind(409, 'The document is sealed and must stay as it is.'),
  document_expired: kind(409, 'The document expired before it was sealed; upload the file again.'),
  too_many_versions: kind(
    409,
    'The document has the maximum number of versions; create a new document.',
  ),
  stored_file_changed: kind(
    409,
    'The stored file is not the one that was hashed; upload the file again.',
  ),
  sync_conflict: kind(
    409,
    'Other devices changed the same fields; resolve it by conflictType and fields.',
  ),
  object_exists: kind(409, 'This id belongs or belonged to an object; choose another one.'),
  sync_request_reused: kind(
    409,
    'The X-Sync-Request-Id was used for another request; choose a new one.',
  ),
  envelope_exists: kind(409, 'The envelope already exists; use that one.'),
  share_exists: kind(
    409,
    'The document is already shared with this recipient; revoke that share to change it.',
  ),
  part_conflict: kind(
    409,
    'This part was stored with other content; open a new upload session to change it.',
  ),
  part_in_progress: kind(409, 'Another request is uploading this part; wait for it to end.'),
  session_closed: kind(409, 'The upload session has ended; open a new one.'),
  completion_in_progress: kind(409, 'Another request is completing the upload; try again soon.'),
  session_completed: kind(409, 'The upload session is already completed and cannot be aborted.'),
  idempotency_key_reused: kind(
    409,
    'The Idempotency-Key was used for another request; choose a new one.',
  ),
  idempotency_in_progress: kind(
    409,
    'The request with this Idempotency-Key is still running; try again soon.',
  ),
  key_not_published: kind(409, 'The key has not been published for long enough; try again later.'),
  key_retired: kind(409, 'The key is retired and cannot sign again; create a new one.'),
  key_in_use: kind(409, 'The key is in use; activate its successor first.'),
  key_not_lost: kind(409, 'The HSM token of this signer holds the active key; rotate it as usual.'),
  key_not_in_token: kind(
    409,
    'The HSM token of this signer does not hold the key; create a new one.',
  ),
  retry_in_progress: kind(409, 'This entry is being signed again right now; try again soon.'),
  entry_not_dead: kind(
    409,
    'The entry is not in the dead-letter queue; choose one that the queue lists.',
  ),
  entry_unrecoverable: kind(
    410,
    'The entry will never be signed; the signed tombstone named by proofId records that.',
  ),
  maintenance_running: kind(409, 'This maintenance task is already running; wait for it to end.'),
  entry_erased: kind(410, 'The text of this entry was erased; its hash and signature remain.'),
  session_expired: kind(410, 'The upload session has expired; open a new one.'),
  request_timeout: kind(408, 'The request did not arrive in time; send it again.'),
  precondition_failed: kind(
    412,
    'The resource has changed since; read it again and send its new ETag.',
  ),
  precondition_required: kind(428, 'The If-Match header is missing; send the ETag that you know.'),
  length_required: kind(411, 'The Content-Length header is missing; send it.'),
  body_too_large: kind(413, 'The body is larger than 1 MiB; send a smaller one.'),
  multipart_required: kind(415, 'The body must be multipart/form-data.'),
  unsupported_media_type: kind(415, 'The body must be application/json in UTF-8.'),
  range_not_satisfiable: kind(
    416,
    'The file has none of the requested bytes; request a range within its size.',
  ),
  headers_too_large: kind(431, 'The request line and headers are over 16 KiB; shorten them.'),
  quota_exceeded: kind(
    429,
    'The plan of this account allows no more; delete something or change the plan.',
  ),
  too_many_feeds: kind(429, 'The maximum number of change feeds is open; close one.'),
  rate_limited: kind(429, 'Too many attempts; try again after the seconds that Retry-After names.'),
  internal_error: kind(
    500,
    'The service failed unexpectedly, and logged it; if it happens again, report the requestId.',
  ),
  cache_unavailable: kind(503, 'The cache is unavailable; try again soon.'),
  database_unavailable: kind(503, 'The database is unavailable; try again soon.'),
  storage_unavailable: kind(503, 'The object store is unavailable; try again soon.'),
  signer_unavailable: kind(503, 'The signer is unavailable; try again soon.'),
  jwks_unavailable: kind(503, 'The key set of the token issuer is unavailable; try again soon.'),
  shutting_down: kind(503, 'This process is shutting down; send the request again.'),
  reauth_busy: kind(503, 'Too many other passwords are being checked; try again soon.'),
  audit_backlog_full: kind(503, 'Too many audit entries wait for a signature; try again later.'),
} satisfies Readonly<Record<string, ErrorKind>>;

export type ErrorCode = keyof typeof kinds;

/** Returns the HTTP status and the message of an error code. */
export function describeError(code: ErrorCode): ErrorKind {
  return kinds[code];
}
