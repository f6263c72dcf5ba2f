/** One error of the API: its HTTP status and a sentence that says what to do and never echoes input. */
export interface ErrorKind {
  readonly status: number;
  readonly message: string;
}

/** Every error code of the API. Codes are stable; clients branch on them, never on messages. */
const kinds = {
  validation_failed: {
    status: 400,
    message: 'The request does not match its schema; see details.',
  },
  invalid_json: { status: 400, message: 'The body is not valid JSON in UTF-8.' },
  invalid_request: { status: 400, message: 'The request is malformed.' },
  password_forbidden: { status: 400, message: 'A password must never be sent to this service.' },
  invalid_public_value: { status: 400, message: 'The SRP public value A is not acceptable.' },
  raw_keys_refused: {
    status: 400,
    message: 'Keys are not taken here; send them wrapped, as encryptedEnvelope.',
  },
  rekey_incomplete: {
    status: 400,
    message: 'A new master key needs recovery, keyring and devices: all active ones and no others.',
  },
  invalid_key_length: { status: 400, message: 'The key or envelope has the wrong length.' },
  stored_file_not_found: { status: 400, message: 'No completed upload of yours is at this path.' },
  invalid_part_number: { status: 400, message: 'The part number is outside this session.' },
  invalid_part_size: { status: 400, message: 'The part size is not allowed.' },
  schema_version_unsupported: {
    status: 400,
    message: 'X-Schema-Version must be one of X-Schema-Version-Supported; update the client.',
  },
  data_too_deep: { status: 400, message: 'The data is nested deeper than 32 levels.' },
  data_too_large: { status: 400, message: 'The data is over 512 KiB of canonical text.' },
  too_many_fields: { status: 400, message: 'The data has over 10 000 fields.' },
  paths_too_long: {
    status: 400,
    message: 'The JSON Pointers of the fields are over 1 MiB together.',
  },
  number_out_of_range: {
    status: 400,
    message: 'A number is beyond 2^53 - 1, where JSON is not exact; send it as text.',
  },
  client_gone: { status: 400, message: 'The client went away before it was answered.' },
  incomplete_body: { status: 400, message: 'The body ended before its declared length.' },
  digest_mismatch: { status: 400, message: 'The body does not match its Content-Digest.' },
  user_context_missing: { status: 400, message: 'The access token names no user and tenant.' },
  invalid_parts: { status: 400, message: 'Parts are missing or do not add up to the file size.' },
  mime_type_not_allowed: { status: 400, message: 'This MIME type is not allowed.' },
  file_too_large: { status: 400, message: 'The file is larger than allowed.' },
  invalid_form: { status: 400, message: 'The form is not what it must be; see details.' },
  invalid_total_parts: { status: 400, message: 'No allowed part size fits this number of parts.' },
  invalid_token: { status: 401, message: 'The access token is missing or not valid.' },
  token_expired: { status: 401, message: 'The access token has expired.' },
  invalid_issuer: { status: 401, message: 'The issuer of the access token is not trusted.' },
  invalid_audience: { status: 401, message: 'The access token is for another audience.' },
  invalid_api_key: { status: 401, message: 'The internal API key is missing or not known.' },
  invalid_refresh_token: {
    status: 401,
    message: 'The refresh token is unknown, used or expired; log in again.',
  },
  invalid_credentials: { status: 401, message: 'The password is not right.' },
  device_required: { status: 401, message: 'Name the device of your session as X-Device-Id.' },
  reauth_required: { status: 401, message: 'This needs a fresh X-Reauth-Token.' },
  reauth_expired: { status: 401, message: 'The X-Reauth-Token has expired.' },
  reauth_invalid: { status: 401, message: 'The X-Reauth-Token is not valid here.' },
  srp_session_expired: { status: 401, message: 'The login session is unknown, used or expired.' },
  invalid_proof: { status: 401, message: 'The login proof is not valid.' },
  access_denied: { status: 403, message: 'This needs a role or scope that the token lacks.' },
  reauth_password_refused: {
    status: 403,
    message: 'Passwords are not taken here; prove yours by SRP.',
  },
  device_unknown: {
    status: 403,
    message: 'This is no device of yours, or not that of your session.',
  },
  device_blacklisted: { status: 403, message: 'The device was revoked; log in on another one.' },
  not_found: { status: 404, message: 'Nothing is here for you.' },
  user_not_found: { status: 404, message: 'No active account has this e-mail address.' },
  proof_not_ready: { status: 404, message: 'The entry is recorded and waits for its signature.' },
  method_not_allowed: { status: 405, message: 'This path does not take this method.' },
  duplicate_hash: { status: 409, message: 'You already hold a document with this content.' },
  document_sealed: { status: 409, message: 'The document is sealed and cannot change.' },
  document_expired: { status: 409, message: 'The document expired before it was sealed.' },
  too_many_versions: { status: 409, message: 'The document has as many versions as it may have.' },
  stored_file_changed: { status: 409, message: 'The stored file is not the one that was hashed.' },
  sync_conflict: {
    status: 409,
    message: 'Other devices changed the same fields; see conflictType and fields.',
  },
  object_exists: { status: 409, message: 'An object has or had this id.' },
  sync_request_reused: {
    status: 409,
    message: 'The X-Sync-Request-Id was used for another request.',
  },
  envelope_exists: { status: 409, message: 'The envelope exists already.' },
  share_exists: { status: 409, message: 'The document is shared with this recipient already.' },
  part_conflict: { status: 409, message: 'This part was recorded with other content.' },
  part_in_progress: { status: 409, message: 'This part is being received in another request.' },
  session_closed: { status: 409, message: 'The upload session has ended.' },
  completion_in_progress: { status: 409, message: 'The upload is being completed right now.' },
  session_completed: { status: 409, message: 'The upload session is already completed.' },
  idempotency_key_reused: {
    status: 409,
    message: 'The Idempotency-Key was used for another request.',
  },
  idempotency_in_progress: {
    status: 409,
    message: 'The request with this Idempotency-Key is under way; ask again soon.',
  },
  key_not_published: {
    status: 409,
    message: 'The key is not yet published for long enough; ask again soon.',
  },
  key_retired: { status: 409, message: 'The key is retired and signs no more.' },
  key_in_use: { status: 409, message: 'The key is in use; activate its successor first.' },
  key_not_lost: { status: 409, message: 'The token of this signer holds the active key.' },
  key_not_in_token: { status: 409, message: 'The token of this signer does not hold the key.' },
  retry_in_progress: {
    status: 409,
    message: 'This entry is being signed again right now; ask again soon.',
  },
  entry_not_dead: { status: 409, message: 'The entry is not in the dead-letter queue.' },
  entry_unrecoverable: {
    status: 410,
    message: 'The entry was given up; the signed tombstone named by proofId says so.',
  },
  maintenance_running: { status: 409, message: 'This maintenance task is running already.' },
  entry_erased: { status: 410, message: 'The text of this entry was erased; its seal remains.' },
  session_expired: { status: 410, message: 'The upload session has expired.' },
  request_timeout: { status: 408, message: 'The request did not arrive in time.' },
  precondition_failed: { status: 412, message: 'This has changed since; read it again.' },
  precondition_required: { status: 428, message: 'Send the ETag that you know as If-Match.' },
  length_required: { status: 411, message: 'Content-Length is required.' },
  body_too_large: { status: 413, message: 'The body is larger than 1 MiB.' },
  multipart_required: { status: 415, message: 'The body must be multipart/form-data.' },
  unsupported_media_type: { status: 415, message: 'The body must be application/json in UTF-8.' },
  range_not_satisfiable: { status: 416, message: 'The file has none of the bytes asked for.' },
  headers_too_large: { status: 431, message: 'The request line and headers are over 16 KiB.' },
  quota_exceeded: { status: 429, message: 'The plan of this account allows no more.' },
  too_many_feeds: { status: 429, message: 'As many change feeds are open as may be; close one.' },
  rate_limited: { status: 429, message: 'Too many attempts; try again later.' },
  internal_error: { status: 500, message: 'Something failed on our side; it has been logged.' },
  cache_unavailable: { status: 503, message: 'The cache is away; try again soon.' },
  database_unavailable: { status: 503, message: 'The database is away; try again soon.' },
  storage_unavailable: { status: 503, message: 'The object store is away; try again soon.' },
  signer_unavailable: { status: 503, message: 'The signer is away; try again soon.' },
  jwks_unavailable: { status: 503, message: 'The key set of the issuer is away; try again soon.' },
  shutting_down: { status: 503, message: 'This process is stopping; ask again.' },
  reauth_busy: { status: 503, message: 'Other passwords are being checked; try again soon.' },
  audit_backlog_full: {
    status: 503,
    message: 'Too many entries wait for a signature; try again later.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof kinds;

/** Status and text of a code, for the OpenAPI document. */
export function describeError(code: ErrorCode): ErrorKind {
  return kinds[code];
}
