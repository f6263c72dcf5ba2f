import type { Clock } from '../../async/clock.ts';
import { followSecret } from '../../secrets/follow-secret.ts';
import type { Log } from '../../telemetry/log.ts';
import type { IdentityProvider } from '../identity-provider.ts';
import { createKeycloak, type KeycloakOptions } from './keycloak.ts';

/** A client as the configuration has it: its secret, and the file where that stands, if any. */
interface ConfiguredClient {
  readonly id: string;
  readonly secret: string;
  readonly secretFile: string | undefined;
}

type KeycloakConfig = Pick<KeycloakOptions, 'url' | 'realm' | 'issuer' | 'group'> & {
  readonly admin: ConfiguredClient;
  readonly passwords: ConfiguredClient | undefined;
};

interface OpenOptions {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Creates the client of the configured Keycloak; undefined if none is configured. Secrets that
 * stand in files are read anew whenever they are used.
 */
export function openKeycloak(
  keycloak: KeycloakConfig | undefined,
  { clock, log }: OpenOptions,
): IdentityProvider | undefined {
  if (keycloak === undefined) return undefined;
  const follow = (variable: string, { id, secret, secretFile }: ConfiguredClient) => ({
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
