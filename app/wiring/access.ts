import { countInternalUses } from '../audit/custody/internal-key-uses.ts';
import { recordKeySets } from '../audit/custody/internal-key-sets.ts';
import { createRegistration } from '../registration/registration.ts';
import { createAccounts } from '../accounts/accounts.ts';
import { createAccessTokens } from '../tokens/access-token.ts';
import { createAuthenticate } from '../sessions/authenticate.ts';
import { createCredentials } from '../auth/credentials/credentials.ts';
import { createIssuers } from '../tokens/external-issuers/issuers.ts';
import { createLogin } from '../auth/login/login.ts';
import { createLoginFailures } from '../auth/login/login-failures.ts';
import { createLoginSessions } from '../sessions/login-sessions.ts';
import { createOwnKeys } from '../tokens/own-keys.ts';
import { createPasswordCheck } from '../auth/reauth/password-check.ts';
import { createPasswordTurns } from '../auth/reauth/password-turns.ts';
import { createProofLimits } from '../auth/login/login-proof-limits.ts';
import { createReauth } from '../auth/reauth/reauth.ts';
import { createReauthTokens } from '../tokens/reauth-token.ts';
import { createFreshProofs } from '../sessions/fresh-proof.ts';
import { startRevocations } from '../sessions/revocations.ts';
import { createSrpExchange } from '../auth/login/srp-exchange.ts';
import { createSrpSessions } from '../auth/login/srp-sessions.ts';
import { createRefreshTokens } from '../sessions/refresh-tokens/refresh-token.ts';
import { createTokenRefresh } from '../sessions/refresh-rotation.ts';
import type { Clock } from '../async/clock.ts';
import type { Config } from '../config/config.ts';
import { createDeviceGuard } from '../devices/guard.ts';
import { createSessionBinding } from '../sessions/session-binding.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import type { IdentityProvider } from '../identity-provider/identity-provider.ts';
import { createInternalKeys } from '../internal-api/check-api-key.ts';
import { createRateLimits } from '../limits/rate-limits.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { createPowers } from '../srp/powers.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { AuditServices } from './audit.ts';
import type { Backends } from './backends.ts';

export type AccessServices = ReturnType<typeof startAccess>;

interface AccessOptions extends Backends, Omit<AuditServices, 'stop'> {
  readonly cipher: RowCipher;
  readonly outbox: Outbox;
  readonly identityProvider: IdentityProvider | undefined;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts the services that identify callers: registration, login, sessions, tokens and limits. */
export function startAccess(config: Config, options: AccessOptions) {
  const { db, redis, cipher, signer, registry, keys, act, audit, tallies, outbox, clock, log } =
    options;
  const stopping = new AbortController();
  const { unknownUser } = config.auth;
  const findOwnKey = createOwnKeys({ registry, clock });
  const issuers = createIssuers({
    configs: config.auth.issuers,
    db,
    log,
    clock,
    stop: stopping.signal,
  });
  const tokens = createAccessTokens({ ...config.auth, signer, registry, findOwnKey, clock });
  const reauthTokens = createReauthTokens({ ...config.auth, signer, registry, findOwnKey, clock });
  const accounts = createAccounts({ db, cipher });
  const sessions = createSrpSessions({ redis, cipher });
  const { limited: onRefused, countResults } = options.metrics.access;
  const limits = createRateLimits({ redis, rates: config.limits, onRefused, log });
  const registration = createRegistration({
    db,
    cipher,
    act,
    audit,
    outbox,
    keys,
    limits,
    unknownUser,
    clock,
  });
  const addressKey = () => keys.get('address-hash');
  const proofLimits = createProofLimits({ limits, db, clock, addressKey });
  const failures = createLoginFailures({ tallies, keys });
  const powers = createPowers();
  const exchange = createSrpExchange({
    accounts,
    sessions,
    powers,
    keys,
    proofLimits,
    failures,
    unknownUser,
    clock,
  });
  const passwordCheck = createPasswordCheck({
    issuer: config.auth.issuer,
    db,
    accounts,
    identityProvider: options.identityProvider,
    passwordTurns: createPasswordTurns(),
    proofLimits,
    failures,
  });
  const reauth = createReauth({ ...config.auth, exchange, passwordCheck, reauthTokens, act });
  const revocations = startRevocations({ db, log });
  const refreshTokens = createRefreshTokens({ keys });
  const loginSessions = createLoginSessions({
    accounts,
    db,
    act,
    refreshTokens,
    revocations,
    clock,
  });
  const sessionBinding = createSessionBinding(config.auth);
  const internalKeys = createInternalKeys({ ...config.internalKeys, log });
  const internalUses = countInternalUses({ tallies, clock, log });
  const keySets = recordKeySets({ db, audit, internalKeys, log });
  const login = createLogin({ exchange, tokens, sessions: loginSessions, limits });
  const refreshing = createTokenRefresh({
    accounts,
    tokens,
    refreshTokens,
    revocations,
    limits,
    act,
    clock,
  });
  return {
    accounts,
    deviceGuard: createDeviceGuard({ binding: sessionBinding, clock }),
    sessionBinding,
    authenticate: createAuthenticate({ ...config.auth, tokens, revocations, issuers }),
    credentials: createCredentials({
      ...config.auth,
      accounts,
      cipher,
      act,
      revocations,
      clock,
    }),
    exchange: { ...exchange, challenge: countResults('challenge', exchange.challenge) },
    freshProofs: createFreshProofs({ ...config.auth, reauthTokens, clock }),
    countInternalUse: internalUses.add,
    internalKeys,
    issuers,
    limits,
    login: { verify: countResults('login', login.verify) },
    loginSessions,
    reauth: { reauthenticate: countResults('reauthentication', reauth.reauthenticate) },
    reauthTokens,
    registration,
    revocations,
    tokenRefresh: { refresh: countResults('refresh', refreshing.refresh) },
    tokens,
    async stop() {
      stopping.abort();
      await Promise.all([revocations.stop(), powers.close(), keySets.stop(), internalUses.stop()]);
    },
  };
}
