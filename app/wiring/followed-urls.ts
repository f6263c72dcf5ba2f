import type { z } from 'zod';
import type { Config } from '../config/config.ts';
import { PostgresUrl } from '../db/postgres-url.ts';
import { SmtpUrl } from '../mail/smtp-url.ts';
import { RedisUrl } from '../redis/redis-url.ts';
import { followSecret } from '../secrets/follow-secret.ts';
import type { Log } from '../telemetry/log.ts';

/** Returns the URLs of the backends, which are read anew where they stand in files. */
export function followUrls({ database, redis, mail }: Config, log: Log) {
  const follow = (variable: string, value: string, file: string | undefined, form: z.ZodType) => {
    const accepts = (url: string) => form.safeParse(url).success;
    return followSecret({ variable, value, file, accepts, log });
  };
  const { url, urlFile, serviceUrl, serviceUrlFile } = database;
  return {
    appUrl: follow('DATABASE_URL', url, urlFile, PostgresUrl),
    serviceUrl: follow('DATABASE_SERVICE_URL', serviceUrl, serviceUrlFile, PostgresUrl),
    redisUrl: follow('REDIS_URL', redis.url, redis.urlFile, RedisUrl),
    mail:
      mail.driver === 'smtp'
        ? { ...mail, url: follow('MAIL_URL', mail.url, mail.urlFile, SmtpUrl) }
        : mail,
  };
}

export type FollowedUrls = ReturnType<typeof followUrls>;
