import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Identified } from '../../http/requests/caller.ts';
import type { Log } from '../../telemetry/log.ts';
import type { IssuerConfig } from './config.ts';
import { createExternalTokens } from './external-token.ts';
import { createIdentities } from './identities.ts';
import { startKeySet, type KeySetState } from './key-set.ts';

interface IssuersOptions {
  readonly configs: readonly IssuerConfig[];
  readonly db: Database;
  readonly log: Log;
  readonly clock: Clock;
  readonly stop: AbortSignal;
}

export type Issuers = ReturnType<typeof createIssuers>;

/**
 * Creates the service that verifies access tokens of the other issuers that the vault trusts. It
 * refreshes their keys until `stop` aborts.
 */
export function createIssuers({ configs, db, log, clock, stop }: IssuersOptions) {
  const identities = createIdentities(db);
  const issuers = new Map(
    configs.map((config) => {
      const keys = startKeySet({ config, log, clock, stop });
      return [config.issuer, { keys, verify: createExternalTokens({ config, keys, clock }) }];
    }),
  );

  return {
    /**
     * Returns the user whom a token names. Throws invalid_issuer, invalid_audience, invalid_token,
     * token_expired or jwks_unavailable.
     * @param issuer the issuer that the token, not yet verified, names.
     */
    async verify(token: string, issuer: string | undefined): Promise<Identified> {
      const trusted = issuer === undefined ? undefined : issuers.get(issuer);
      if (trusted === undefined) throw new AppError('invalid_issuer');
      const { subject, ...caller } = await trusted.verify(token);
      return { ...caller, userId: await identities.identify({ issuer: caller.issuer, subject }) };
    },

    /** Returns the state of each issuer's key set, without a request to the issuer. */
    states: (): readonly KeySetState[] => [...issuers.values()].map(({ keys }) => keys.state()),
  };
}
