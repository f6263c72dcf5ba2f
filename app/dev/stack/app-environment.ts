import { realmVariables } from '../identity-provider/realm.ts';
import { databaseUrls } from '../postgres/database.ts';
import { internalKeyFiles } from './internal-key.ts';
import type { Services } from './services.ts';

export const databaseName = 'probatio';

export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** Returns the base URL under which programs on this machine reach the API. */
export function localUrl({ host, port }: Listen): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '[::1]', '::1': '[::1]' }[host] ?? host;
  return `http://${reachable}:${port}`;
}

/**
 * Returns the environment variables with the addresses of the app and its services. They override
 * the user's own variables.
 */
export function fixedVariables(services: Services, listen: Listen): Record<string, string> {
  const urls = databaseUrls(services.postgres.access, databaseName);
  return {
    HOST: listen.host,
    PORT: String(listen.port),
    DATABASE_URL: urls.app,
    DATABASE_SERVICE_URL: urls.service,
    REDIS_URL: services.redis.url,
    SIGNER_SOCKET_PATH: services.signerSocketPath,
  };
}

/**
 * Returns the default environment variables. The user's own variables, such as STORAGE_DRIVER=s3,
 * override them.
 */
export function defaultVariables(services: Services, listen: Listen): Record<string, string> {
  return {
    NODE_ENV: 'development',
    HTTP_PUBLIC_URL: localUrl(listen),
    STORAGE_DRIVER: 'filesystem',
    STORAGE_DIRECTORY: services.layout.objects,
    MAIL_DIRECTORY: services.layout.mail,
    ...mfaVariables(services),
    INTERNAL_API_KEYS_FILE: internalKeyFiles(services.layout).hashes,
    // No other program caches the public keys, so a new key can be used without a waiting time.
    KEYS_PUBLISH_SECONDS: '0',
    // All clients on this machine share one client address, so its limit for registrations is high.
    LIMITS_REGISTER_ADDRESS: '100/1h',
  };
}

/** Returns the variables of the stand-in for Keycloak, unless the user has a Keycloak. */
function mfaVariables({ identityProviderUrl }: Services): Record<string, string> {
  const isOwn = (process.env['MFA_KEYCLOAK_URL'] ?? '') !== '';
  return isOwn ? {} : realmVariables(identityProviderUrl);
}
