import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Identified } from '../../http/requests/caller.ts';
import type { Log } from '../../telemetry/log.ts';
import type { IssuerConfig } from './config.ts';
import { createExternalTokens } from './external-token.ts';
import { createIdentities } from './identities.ts';
import { startKeySet, type KeySetState } from './key-set.ts';

/** The issuers whose access tokens are taken beside our own. */
export interface Issuers {
  /**
   * @param issuer what the token, not yet verified, names as its issuer.
   * Throws invalid_issuer, invalid_audience, invalid_token, token_expired or jwks_unavailable.
   */
  verify(token: string, issuer: string | undefined): Promise<Identified>;
  /** How the key set of each issuer is, without asking it. */
  states(): readonly KeySetState[];
}

interface IssuersOptions {
  readonly configs: readonly IssuerConfig[];
  readonly db: Database;
  readonly log: Log;
  readonly clock: Clock;
  readonly stop: AbortSignal;
}

/** Keeps the issuers' keys fresh until `stop` aborts. */
export function createIssuers({ configs, db, log, clock, stop }: IssuersOptions): Issuers {
  const identities = createIdentities(db);
  const issuers = new Map(
    configs.map((config) => {
      const keys = startKeySet({ config, log, clock, stop });
      return [config.issuer, { keys, verify: createExternalTokens({ config, keys, clock }) }];
    }),
  );

  return {
    async verify(token, issuer) {
      const trusted = issuer === undefined ? undefined : issuers.get(issuer);
      if (trusted === undefined) throw new AppError('invalid_issuer');
      const { subject, ...caller } = await trusted.verify(token);
      return { ...caller, userId: await identities.identify({ issuer: caller.issuer, subject }) };
    },
    states: () => [...issuers.values()].map(({ keys }) => keys.state()),
  };
}
