const RENEW_BEFORE_EXPIRY_SECONDS = 30;

export interface Tokens {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  /** A recovery login has none. */
  readonly refreshToken: string | undefined;
}

export interface TokenSource {
  /** An access token that is not about to expire, if one can be had. */
  current(): Promise<string>;
  /** Another token than this one, which the vault has called expired. */
  renew(expired: string): Promise<string>;
}

/** Refresh tokens rotate, and using one twice ends the session: concurrent calls share one refresh. */
export function createTokenSource(options: {
  initial: Tokens;
  refresh: (refreshToken: string) => Promise<Tokens>;
  now: () => Date;
}): TokenSource {
  const { refresh, now } = options;
  let tokens = options.initial;
  let renewAt = renewalTime(tokens);
  let pending: Promise<string> | undefined;

  function renewalTime({ expiresInSeconds }: Tokens): number {
    return now().getTime() + (expiresInSeconds - RENEW_BEFORE_EXPIRY_SECONDS) * 1000;
  }

  async function rotate(refreshToken: string): Promise<string> {
    try {
      tokens = await refresh(refreshToken);
      renewAt = renewalTime(tokens);
      return tokens.accessToken;
    } finally {
      pending = undefined;
    }
  }

  async function renew(expired: string): Promise<string> {
    if (tokens.accessToken !== expired || tokens.refreshToken === undefined) {
      return tokens.accessToken;
    }
    pending ??= rotate(tokens.refreshToken);
    return pending;
  }

  return {
    renew,
    async current() {
      return now().getTime() < renewAt ? tokens.accessToken : renew(tokens.accessToken);
    },
  };
}
