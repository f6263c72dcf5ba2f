/** Settings that disable every rate limit, for tests and benches with a single client address. */
export const withoutLimits = {
  LIMITS_REGISTER_ADDRESS: 'off',
  LIMITS_REGISTER_EMAIL: 'off',
  LIMITS_VALIDATE_ADDRESS: 'off',
  LIMITS_CHALLENGE_ADDRESS: 'off',
  LIMITS_PROOF_ADDRESS: 'off',
  LIMITS_PROOF_ACCOUNT: 'off',
  LIMITS_TOTP_ACCOUNT: 'off',
  LIMITS_SHARE_KEY_USER: 'off',
} as const;
