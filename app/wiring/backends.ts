import { createSignerClient } from '../../signer/protocol/client.ts';
import type { Config } from '../config/config.ts';
import { openDatabase } from '../db/database.ts';
import { createMailer } from '../mail/create-mailer.ts';
import { connectRedis } from '../redis/redis.ts';
import { createObjectStore } from '../storage/create-store.ts';
import { hasFiles } from '../uploads/cleanup/references.ts';
import { createObjectHasher } from '../storage/object-hash.ts';
import type { Log } from '../telemetry/log.ts';
import type { Clock } from '../async/clock.ts';

export type Backends = Awaited<ReturnType<typeof openBackends>>;

/** Opens the clients of all backends. None of them needs to be reachable yet. */
export async function openBackends(config: Config, clock: Clock, log: Log) {
  const checksLocks = config.environment !== 'production';
  const db = await openDatabase({ ...config.database, checksLocks });
  const redis = connectRedis(config.redis.url, log);
  const store = await createObjectStore(config.storage, {
    mayCreate: async () => !(await db.asService(hasFiles)),
  });
  const hasher = createObjectHasher(config.storage, { concurrency: 2 });
  const signer = createSignerClient({ socketPath: config.signer.socketPath });
  const { publicUrl } = config.http;
  const mailer = await createMailer({ ...config.mail, publicUrl, clock, log });
  return {
    db,
    redis,
    store,
    hasher,
    signer,
    mailer,
    async close() {
      mailer.close();
      await hasher.close();
      await store.close();
      signer.close();
      redis.disconnect();
      await db.close();
    },
  };
}
