import type { Clock } from '../async/clock.ts';
import type { Config } from '../config/config.ts';
import type { IdentityProvider } from '../identity-provider/identity-provider.ts';
import { createKeycloak } from '../identity-provider/keycloak/keycloak.ts';
import { createMfaRemoval } from '../mfa/account-closure.ts';
import { createCodeCheck } from '../mfa/code-check.ts';
import { createIdentification } from '../mfa/identification.ts';
import { createMfa } from '../mfa/mfa.ts';
import { createUnfinishedMfa } from '../mfa/unfinished.ts';
import { createUserLeases } from '../mfa/user-leases.ts';
import { followSecret } from '../secrets/follow-secret.ts';
import type { Log } from '../telemetry/log.ts';
import type { AccessServices } from './access.ts';
import type { AuditServices } from './audit.ts';
import type { Backends } from './backends.ts';

type Keycloak = NonNullable<Config['mfa']['keycloak']>;

interface ProviderOptions {
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates the client of the identity provider; undefined if none is set up. */
export function openIdentityProvider(
  { keycloak }: Config['mfa'],
  { clock, log }: ProviderOptions,
): IdentityProvider | undefined {
  if (keycloak === undefined) return undefined;
  const follow = (variable: string, { id, secret, secretFile }: Keycloak['admin']) => ({
    id,
    secret: followSecret({ variable, value: secret, file: secretFile, log }),
  });
  const { admin, passwords, ...place } = keycloak;
  return createKeycloak({
    ...place,
    admin: follow('MFA_KEYCLOAK_CLIENT_SECRET', admin),
    passwords:
      passwords === undefined
        ? undefined
        : follow('MFA_KEYCLOAK_PASSWORD_CLIENT_SECRET', passwords),
    clock,
    log,
  });
}

interface MfaServicesOptions
  extends Backends, Omit<AuditServices, 'stop'>, Omit<AccessServices, 'stop'> {
  readonly identityProvider: IdentityProvider | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates the services with which users manage their second factors. */
export function createMfaServices(config: Config, options: MfaServicesOptions) {
  const { identityProvider: provider } = options;
  const leases = createUserLeases(options);
  const shared = { ...options, provider, leases };
  const identify = createIdentification({ ...shared, issuer: config.auth.issuer });
  const withCode = createCodeCheck(options);
  return {
    mfa: createMfa({ ...shared, ...config.mfa, identify, withCode }),
    forgetMfaUser: createMfaRemoval(shared),
    unfinishedMfa: createUnfinishedMfa(shared),
  };
}
