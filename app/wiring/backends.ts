import { createSignerClient } from '../../signer/protocol/client.ts';
import { startClockWatch } from '../clocks/clock-watch.ts';
import { readClocks } from '../clocks/readings.ts';
import type { Config } from '../config/config.ts';
import { openDatabase } from '../db/database.ts';
import { guardDatabase } from '../db/isolation/guarded-database.ts';
import { startIsolation } from '../db/isolation/isolation.ts';
import { createMailer } from '../mail/create-mailer.ts';
import { connectRedis } from '../redis/redis.ts';
import { openWakeChannels } from '../redis/wake-channels.ts';
import { createObjectStore } from '../storage/create-store.ts';
import { hasFiles } from '../uploads/cleanup/references.ts';
import { followUrls, type FollowedUrls } from './followed-urls.ts';
import { createObjectHasher } from '../storage/object-hash.ts';
import { watchStore } from '../storage/store-watch.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import type { Log } from '../telemetry/log.ts';
import type { Clock } from '../async/clock.ts';

/** Number of files that one process hashes at a time, each in a thread. */
export const hashesAtOnce = 2;

/** Number of stored files that one process checks at a time, apart from those of uploads. */
const checksAtOnce = 2;

export type Backends = Awaited<ReturnType<typeof openBackends>>;

/**
 * Opens the clients of all backends. None of them needs to be reachable yet. Throws StartRefused if
 * the database would not isolate users from each other.
 */
export async function openBackends(config: Config, metrics: Metrics, clock: Clock, log: Log) {
  const urls = followUrls(config, log);
  const { database, isolation } = await openIsolated(config, urls, { metrics, clock, log });
  metrics.database.readConnections(database.connections, config.database.poolSize);
  const db = guardDatabase(database, isolation);
  const redis = connectRedis(urls.redisUrl, log);
  const wakes = openWakeChannels(redis);
  const unwatched = await createObjectStore(config.storage, {
    mayCreate: async () => !(await db.asService(hasFiles)),
  });
  const { store, watch: storeWatch } = watchStore(unwatched, clock);
  const hasher = createObjectHasher(config.storage, { concurrency: hashesAtOnce });
  const checkHasher = createObjectHasher(config.storage, { concurrency: checksAtOnce });
  const { socketPath } = config.signer;
  const signer = createSignerClient({ socketPath, onAnswered: metrics.signerCalled });
  const clocks = startClockWatch({ readings: readClocks(db, signer), clock, log });
  const { publicUrl } = config.http;
  const mailer = await createMailer({ ...urls.mail, publicUrl, clock, log });
  return {
    db,
    isolation,
    redis,
    wakes,
    store,
    storeWatch,
    hasher,
    checkHasher,
    signer,
    clocks,
    mailer,
    async close() {
      await clocks.stop();
      mailer.close();
      await Promise.all([hasher.close(), checkHasher.close()]);
      await store.close();
      signer.close();
      wakes.close();
      redis.disconnect();
      await isolation.stop();
      await database.close();
    },
  };
}

interface IsolatedOptions {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

async function openIsolated(
  config: Config,
  urls: FollowedUrls,
  { metrics, clock, log }: IsolatedOptions,
) {
  const { appRole: app, serviceRole: service, poolSize } = config.database;
  const { appUrl: url, serviceUrl } = urls;
  const checksLocks = config.environment !== 'production';
  const onUnprepared = () =>
    log.warn(
      'the pooler before Postgres does not support prepared statements, which costs time: ' +
        'use PgBouncer 1.21 or later, with max_prepared_statements above 0',
    );
  const database = await openDatabase({
    url,
    serviceUrl,
    poolSize,
    checksLocks,
    onAnswered: metrics.database.answered,
    onUnprepared,
  });
  try {
    const roles = { app, service };
    return { database, isolation: await startIsolation({ db: database, roles, clock, log }) };
  } catch (error) {
    await database.close();
    throw error;
  }
}
