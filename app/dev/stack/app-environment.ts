import { databaseUrls } from '../postgres/database.ts';
import { internalKeyFiles } from './internal-key.ts';
import type { Services } from './services.ts';

export const databaseName = 'probatio';

export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** The base URL under which this machine reaches the API. */
export function localUrl({ host, port }: Listen): string {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '[::1]', '::1': '[::1]' }[host] ?? host;
  return `http://${reachable}:${port}`;
}

/** Where the app listens and the embedded services are: these win over the user's own. */
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

/** What the user's own variables may replace, such as STORAGE_DRIVER=s3 with its settings. */
export function defaultVariables(services: Services, listen: Listen): Record<string, string> {
  return {
    NODE_ENV: 'development',
    HTTP_PUBLIC_URL: localUrl(listen),
    STORAGE_DRIVER: 'filesystem',
    STORAGE_DIRECTORY: services.layout.objects,
    MAIL_DIRECTORY: services.layout.mail,
    INTERNAL_API_KEYS_FILE: internalKeyFiles(services.layout).hashes,
    // Nobody else keeps our keys in a cache.
    KEYS_PUBLISH_SECONDS: '0',
    // Everybody on this machine comes from one address.
    LIMITS_REGISTER_ADDRESS: '100/1h',
  };
}
