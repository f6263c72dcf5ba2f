import { kind } from './error-kind.ts';

/** The errors of requests whose caller is not known, or may not do what they ask for. */
export const accessErrors = {
  invalid_token: kind(
    401,
    'The access token in the Authorization header is missing or not valid; log in again.',
  ),
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
    'The password is wrong, or belongs to another account; check the password and try again.',
  ),
  device_required: kind(
    401,
    'The X-Device-Id header is missing; send the id of the device to which your session is bound.',
  ),
  reauth_required: kind(
    401,
    'X-Reauth-Token is missing; reauthenticate and send the reauthentication token in it.',
  ),
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
    'The token or API key lacks a required role, scope or right; send a token or key that has it.',
  ),
  reauth_password_refused: kind(403, 'Passwords are not accepted here; reauthenticate by SRP.'),
  device_unknown: kind(
    403,
    'You have no device with this id, or your session is bound to another device; send the id ' +
      'of the device to which your session is bound.',
  ),
  device_blacklisted: kind(403, 'The device was revoked; log in on another device.'),
};
