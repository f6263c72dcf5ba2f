import { kind } from './error-kind.ts';

/** The errors for which the client is not to blame, and after which it may try again. */
export const serverErrors = {
  internal_error: kind(
    500,
    'The service failed and logged the error; if this happens again, report the `requestId`.',
  ),
  log_damaged: kind(
    500,
    'Audit entries are damaged or missing; `details` names the first ones, and the log all. ' +
      'Restore them from a backup.',
  ),
  cache_unavailable: kind(503, 'The cache is unavailable; try again soon.'),
  database_unavailable: kind(503, 'The database is unavailable; try again soon.'),
  queue_unavailable: kind(503, 'The queue of jobs is unavailable; try again soon.'),
  storage_unavailable: kind(503, 'The object store is unavailable; try again soon.'),
  storage_full: kind(503, 'The object store has no room for more data; try again later.'),
  signer_unavailable: kind(503, 'The signer is unavailable; try again soon.'),
  jwks_unavailable: kind(503, 'The key set of the token issuer is unavailable; try again soon.'),
  identity_provider_unavailable: kind(
    503,
    'The identity provider is unavailable, or none is set up; try again later.',
  ),
  shutting_down: kind(503, 'This process is shutting down; send the request again.'),
  busy: kind(
    503,
    'Too many requests of the same user or address are being served; send fewer at a time, and ' +
      'this one again soon.',
  ),
  reauth_busy: kind(503, 'Too many other passwords are being checked; try again soon.'),
  clock_skew: kind(
    503,
    'The clocks of the service differ, so that nothing is recorded; try again later.',
  ),
  audit_backlog_full: kind(
    503,
    'Too many audit entries, of this account or of all, wait for a signature; try again later.',
  ),
};
