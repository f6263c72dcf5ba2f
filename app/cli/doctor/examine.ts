import { createSignerClient } from '../../../signer/protocol/client.ts';
import { createAuditTrail } from '../../audit-trail/audit-trail.ts';
import { systemClock } from '../../async/clock.ts';
import { within } from '../../async/within.ts';
import type { Config } from '../../config/config.ts';
import { openDatabase } from '../../db/database.ts';
import { connectRedis } from '../../redis/redis.ts';
import { createKeyRegistry } from '../../signing-keys/registry.ts';
import { createObjectStore } from '../../storage/create-store.ts';
import { createLog } from '../../telemetry/log.ts';
import { bucketSteps } from './dependencies/bucket-steps.ts';
import { databaseSteps } from './dependencies/database-steps.ts';
import { mailSteps } from './dependencies/mail-steps.ts';
import { mfaSteps } from './dependencies/mfa-steps.ts';
import { redisSteps } from './dependencies/redis-steps.ts';
import { signerSteps } from './dependencies/signer-steps.ts';
import { runSteps, type Finding } from './steps/steps.ts';
import { storageSteps } from './dependencies/storage-steps.ts';

/** Connections of each login: enough for all steps at once. */
const poolSize = 4;
/** Milliseconds for closing connections, one of which may hang. */
const closeMs = 1_000;

/**
 * Examines everything that the app depends on, and resolves with what was found. Takes seconds,
 * also if dependencies hang. Connections may be left open by then.
 */
export async function examine(config: Config): Promise<readonly Finding[]> {
  const { url, serviceUrl } = config.database;
  const db = await openDatabase({ url, serviceUrl, poolSize });
  const redis = connectRedis(config.redis.url, createLog('silent'));
  const store = await createObjectStore(config.storage, { mayCreate: async () => false });
  const signer = createSignerClient({ socketPath: config.signer.socketPath });
  const audit = createAuditTrail({
    issuer: config.http.publicUrl,
    clock: systemClock,
    assertClock: () => undefined,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  const registry = createKeyRegistry({ db, signer, audit, clock: systemClock });
  const findings = await runSteps([
    ...databaseSteps(config.database, db),
    ...storageSteps({
      config: config.storage,
      freePercent: config.audit.alerts.storageFreePercent,
      store,
      db,
    }),
    ...(config.storage.driver === 's3' ? bucketSteps(config.storage) : []),
    ...redisSteps(redis),
    ...signerSteps({ signer, issuer: config.http.publicUrl, listRegistered: registry.list }),
    ...mailSteps(config.mail),
    ...(config.mfa.keycloak === undefined ? [] : mfaSteps(config.mfa.keycloak)),
  ]);
  redis.disconnect();
  signer.close();
  await within(
    closeMs,
    Promise.all([db.close(), store.close()]).then(() => undefined),
  );
  return findings;
}
