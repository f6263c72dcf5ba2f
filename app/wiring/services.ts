import { systemClock } from '../async/clock.ts';
import { createBusyRest } from '../async/busy-rest.ts';
import { createHeavyWork } from '../async/heavy-work.ts';
import type { Config } from '../config/config.ts';
import { createSharedAddressWatch } from '../http/requests/shared-address.ts';
import { createJsonBodies } from '../http/bodies/json-body.ts';
import { openKeycloak } from '../identity-provider/keycloak/open-keycloak.ts';
import { createMfaServices } from '../mfa/mfa-services.ts';
import { startMarkWriter } from '../restore/mark-writer.ts';
import { createPlans } from '../plans/plans.ts';
import { createOutbox, messageRow } from '../outbox/outbox.ts';
import { decryptMail } from '../outbox/stored-mail.ts';
import { startOutboxWorker, type OutboxHandlers } from '../outbox/worker.ts';
import { about } from '../telemetry/about.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import { startReadings } from '../telemetry/metrics/readings.ts';
import { startAccess } from './access.ts';
import { startAudit } from './audit.ts';
import { openBackends } from './backends.ts';
import { startEncryption } from './encryption.ts';
import { openMarks } from './marks.ts';
import { startJobs } from './jobs.ts';
import { createOperation } from './operation.ts';
import { createVault } from './vault.ts';
import { startChangeFeeds } from '../sync/feed/feeds.ts';
import { createObjectRemoval } from '../uploads/cleanup/object-removal.ts';
import type { Log } from '../telemetry/log.ts';
import { createWakeSignal } from '../async/wake-signal.ts';

export type Services = Awaited<ReturnType<typeof startServices>>;

/**
 * Creates all services and starts the workers. No backend needs to be reachable yet: connections
 * are retried, and the readiness check reports them. Throws StartRefused if the database would not
 * isolate users, or if the backends do not belong together, as after a restore of only one of them.
 */
export async function startServices(config: Config, log: Log, metrics: Metrics) {
  const clock = systemClock;
  const backends = await openBackends(config, metrics, clock, log);
  const { db, store, mailer } = backends;
  const promised = createWakeSignal();
  const added = backends.wakes.open('outbox-added', { onTold: promised.wake });
  const isWorker = config.roles.has('worker');
  const outbox = createOutbox({
    onCommitted: isWorker ? promised.wake : () => added.tell('added'),
  });

  const marks = await openMarks(backends, clock, log);
  const { admission, objects } = marks;
  const sharedAddress = createSharedAddressWatch({ log, clock });
  const plans = createPlans({ ...config.plans, log });
  const { issuer } = config.auth;
  const basis = { ...backends, issuer, admission, plans, sharedAddress, metrics, clock, log };
  const { stop: stopAudit, ...records } = startAudit(config.audit, basis);
  const markWriter = startMarkWriter({ ...marks, ...basis, ...records });
  const { stop: stopEncryption, ...encryption } = startEncryption(config.keys, {
    ...basis,
    ...records,
  });
  const { cipher } = encryption;
  const keycloak = openKeycloak(config.mfa.keycloak, basis);
  const identityProvider = keycloak === undefined ? undefined : metrics.timeProvider(keycloak);
  const common = { ...basis, ...records, ...encryption, outbox, identityProvider };
  const { stop: stopAccess, ...access } = startAccess(config, common);
  const { countResults } = metrics.access;
  const { forgetMfaUser, ...mfa } = createMfaServices({
    ...common,
    ...access,
    issuerLabel: config.mfa.issuerLabel,
  });
  const changeFeeds = startChangeFeeds({ ...common, ...access });
  const heavyWork = createHeavyWork();
  const restAfter = createBusyRest();
  const jsonBodies = createJsonBodies({ heavyWork, restAfter });
  const vault = createVault(config, { ...common, ...access, changeFeeds, heavyWork, jsonBodies });
  const writeMark = markWriter.writeNow;
  const { stop: stopJobs, ...jobs } = startJobs(config, { ...common, ...access });
  const operation = createOperation(config, {
    ...common,
    ...access,
    ...mfa,
    ...jobs,
    objects,
    writeMark,
  });

  const handlers: OutboxHandlers = {
    email: (mail, id) => mailer.send(decryptMail(cipher, messageRow(id), mail), id),
    registration: (asked, id) => access.registration.enrol(asked, id),
    'mfa.forget': forgetMfaUser,
    'account.sweep': (owner) => vault.closure.sweep(owner),
    'object.delete': createObjectRemoval({ db, store }),
    'multipart.abort': ({ key, uploadId }) => store.abortMultipart(key, uploadId),
  };
  const outboxWorker = isWorker
    ? startOutboxWorker({ db, log, signal: promised, handlers })
    : undefined;

  metrics.streams.readOpen({ sync: changeFeeds.count, jobs: jobs.jobStreams.count });
  const isScraped = config.metrics.port !== undefined;
  const readings = isScraped
    ? startReadings({ metrics: metrics.readings, db, cursor: records.cursor, clock, log })
    : undefined;

  return {
    ...records,
    ...encryption,
    ...access,
    ...vault,
    mfa: { ...mfa.mfa, confirm: countResults('one-time-code', mfa.mfa.confirm) },
    ...operation,
    ...jobs,
    about,
    admission,
    /** Resolves if this start is refused after it seemed to succeed. */
    refused: Promise.race([admission.refused, backends.isolation.refused]),
    /** Tells whether the database isolates users, as far as this process knows. */
    isolation: backends.isolation,
    changeFeeds,
    clock,
    heavyWork,
    issuer: config.auth.issuer,
    jsonBodies,
    metrics,
    restAfter,
    schemaVersions: config.sync.schemaVersions,
    sharedAddress,
    uploadSettings: config.uploads,
    /** Marks this process as not ready for traffic, and closes the event streams. */
    beginDrain() {
      operation.beginDrain();
      changeFeeds.drain();
      jobs.jobStreams.drain();
    },
    /** Stops the workers once their current work is done, then closes all connections. */
    async stop() {
      await Promise.all([
        stopAudit(),
        stopAccess(),
        stopEncryption(),
        changeFeeds.stop(),
        stopJobs(),
        outboxWorker?.stop(),
        readings?.stop(),
        admission.stop(),
      ]);
      await markWriter.stop();
      await backends.close();
    },
  };
}
