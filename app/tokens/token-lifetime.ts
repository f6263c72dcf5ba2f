/** How long an access token is valid. */
export const accessTokenSeconds = 900;

/** How long that of a login by the recovery words is, which nothing refreshes. */
export const recoveryTokenSeconds = 600;

/** How long a fresh proof counts as one (specification, MFA 1). */
export const reauthTokenSeconds = 300;

/** Clocks of issuers and of this service may differ by this much. */
export const clockSkewSeconds = 30;
