/**
 * Settings that disable every rate limit, and widen the limits on requests and connections, for
 * tests and benches with a single client address.
 */
export const withoutLimits = {
  LIMITS_REGISTER_ADDRESS: 'off',
  LIMITS_REGISTER_EMAIL: 'off',
  LIMITS_REGISTER_EMAIL_CLIENT: 'off',
  LIMITS_VALIDATE_ADDRESS: 'off',
  LIMITS_CHALLENGE_ADDRESS: 'off',
  LIMITS_PROOF_ADDRESS: 'off',
  LIMITS_PROOF_ACCOUNT: 'off',
  LIMITS_LOGIN_ACCOUNT: 'off',
  LIMITS_REFRESH_ACCOUNT: 'off',
  LIMITS_TOTP_ACCOUNT: 'off',
  LIMITS_SHARE_KEY_USER: 'off',
  LIMITS_JOB_USER: 'off',
  LIMITS_WRITE_USER: 'off',
  HTTP_REQUESTS_PER_CLIENT: '1000',
  HTTP_REFUSALS_PER_ADDRESS: '1000000',
  HTTP_CONNECTIONS_PER_ADDRESS: '4096',
} as const;
