import { productionSettings } from '../../support/vault/production.ts';
import { withoutLimits } from '../../support/vault/without-limits.ts';

interface ReplicaOptions {
  readonly databases: { readonly app: string; readonly service: string };
  readonly redisUrl: string;
  /** Path of the file of internal API keys. */
  readonly keyFile: string;
  readonly objectDirectory: string;
  readonly mailDirectory: string;
}

/** The settings of apps on one database, all but those of port and signer. */
export const replicaSettings = ({
  databases,
  redisUrl,
  keyFile,
  objectDirectory,
  mailDirectory,
}: ReplicaOptions) => ({
  ...productionSettings,
  LOG_LEVEL: 'info',
  HTTP_INTERNAL_ROUTES: 'both',
  INTERNAL_API_KEYS_FILE: keyFile,
  KEYS_PUBLISH_SECONDS: '0',
  DATABASE_URL: databases.app,
  DATABASE_SERVICE_URL: databases.service,
  REDIS_URL: redisUrl,
  STORAGE_DRIVER: 'filesystem',
  STORAGE_DIRECTORY: objectDirectory,
  MAIL_DIRECTORY: mailDirectory,
  ...withoutLimits,
});
