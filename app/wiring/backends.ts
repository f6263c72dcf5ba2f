import { createSignerClient } from '../../signer/protocol/client.ts';
import type { Config } from '../config/config.ts';
import { openDatabase, type Database } from '../db/database.ts';
import { createMailer } from '../mail/create-mailer.ts';
import { connectRedis } from '../redis/redis.ts';
import { createObjectStore } from '../storage/create-store.ts';
import { createObjectHasher } from '../storage/object-hash.ts';
import type { Log } from '../telemetry/log.ts';
import type { Clock } from '../async/clock.ts';

export type Backends = Awaited<ReturnType<typeof openBackends>>;

/** What lies outside the process. Nothing of it needs to be reachable yet. */
export async function openBackends(config: Config, clock: Clock, log: Log) {
  const db = await openDatabase(config.database);
  const redis = connectRedis(config.redis.url, log);
  const store = await createObjectStore(config.storage, { mayCreate: () => hasNoFiles(db) });
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

/** Whether no row needs the object store yet: only then is an empty one a new one. */
function hasNoFiles(db: Database): Promise<boolean> {
  return db.asService(async (tx) => {
    const upload = await tx.selectFrom('upload_sessions').select('id').limit(1).executeTakeFirst();
    const document = await tx.selectFrom('documents').select('id').limit(1).executeTakeFirst();
    return upload === undefined && document === undefined;
  });
}
