import { startCustody } from '../audit/custody/custody.ts';
import { watchBacklog } from '../audit/sealing/backlog.ts';
import { createDlq } from '../audit/dlq/dlq.ts';
import { createLogCheck } from '../audit/log-check/log-check.ts';
import { createEntries } from '../audit/entries/entries.ts';
import { createEntrySigning } from '../audit/sealing/entry-signing.ts';
import { routeSeals } from '../audit/sealing/routed-seals.ts';
import { createProofReads } from '../audit/proof-reads.ts';
import { createProofs } from '../audit/proofs/proofs.ts';
import { startSealer } from '../audit/sealing/sealer.ts';
import { createQueueCursor } from '../audit/sealing/queue-cursor.ts';
import { createSealerStore } from '../audit/sealing/sealer-store.ts';
import { createStoredProofs } from '../audit/proofs/stored-proofs.ts';
import { limitTallied } from '../audit/tallies/room.ts';
import { startTallies } from '../audit/tallies/tallies.ts';
import { createAct } from '../audit-trail/act.ts';
import { createAppendingSpans } from '../audit-trail/appending-spans.ts';
import { createAuditTrail } from '../audit-trail/audit-trail.ts';
import { createVerification } from '../audit/verification/verification.ts';
import { createVerifyingThreads } from '../audit/verification/verifying-threads.ts';
import type { Clock } from '../async/clock.ts';
import type { Config } from '../config/config.ts';
import { countFaults } from '../documents/fixity/file-faults.ts';
import { fetchLabelledKeys } from '../signing-keys/labelled-keys.ts';
import { createPublishedKeys } from '../signing-keys/published-keys.ts';
import type { SharedAddressWatch } from '../http/requests/shared-address.ts';
import { createKeyRegistry } from '../signing-keys/registry.ts';
import type { Admission } from '../restore/admission.ts';
import { sealWhenAdmitted } from '../restore/sealing-gate.ts';
import type { Plans } from '../plans/plans.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import type { Log } from '../telemetry/log.ts';
import { createWakeSignal } from '../async/wake-signal.ts';
import type { Backends } from './backends.ts';

export type AuditServices = ReturnType<typeof startAudit>;

interface AuditOptions extends Backends {
  /** The vault's public URL. */
  readonly issuer: string;
  readonly admission: Admission;
  readonly sharedAddress: SharedAddressWatch;
  readonly plans: Plans;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts the services of the audit log: the keys that sign it, and the workers. */
export function startAudit(config: Config['audit'], options: AuditOptions) {
  const { issuer, db, isolation, storeWatch, signer, admission, plans, sharedAddress } = options;
  const { clocks, wakes, metrics, clock, log } = options;
  const stopping = new AbortController();
  const signal = createWakeSignal();
  const cursor = createQueueCursor();
  const backlog = watchBacklog({
    db,
    cursor,
    limit: config.backlogLimit,
    ownerLimit: config.ownerBacklogLimit,
    log,
  });
  const spans = createAppendingSpans();
  const audit = createAuditTrail({
    issuer,
    spans,
    clock,
    assertClock: clocks.assertAgreement,
    isBacklogFull: backlog.isFull,
    onCommitted: (action) => {
      signal.wakeOne();
      backlog.appended();
      metrics.audit.appended(action);
    },
  });
  const act = createAct({ db, audit, plans });
  const registry = createKeyRegistry({ db, signer, audit, clock });
  const keys = fetchLabelledKeys({ signer, registry, log, stop: stopping.signal });
  const store = createSealerStore(db, cursor);
  const signing = createEntrySigning({ signer: routeSeals(signer), issuer });
  const sealing = { ...sealWhenAdmitted(admission, { store, signing }), signer, registry };
  const onBatch = metrics.audit.signed;
  const sealer = startSealer({ ...sealing, spans, signal, wakes, onBatch, clock, log });
  metrics.audit.readPause(() => sealer.pause);
  const readRoom = limitTallied(cursor, Math.ceil(config.backlogLimit / 10));
  const tallies = startTallies({ db, audit, clock, log, limit: config.tallyLimit, readRoom });
  const custody = startCustody({ db, audit, log, readRoom });
  const storedProofs = createStoredProofs({ db, registry });
  const proofs = createProofs({ db, storedProofs, sealer });
  const threads = createVerifyingThreads({ count: 2 });
  const verification = createVerification({ db, proofs, storedProofs, registry, threads });
  return {
    act,
    audit,
    cursor,
    custody,
    dlq: createDlq({
      ...sealing,
      db,
      cursor,
      isolation,
      clocks,
      storeWatch,
      countFaults,
      act,
      audit,
      clock,
      sealer,
      sharedAddress,
      thresholds: config.alerts,
    }),
    entries: createEntries({ db }),
    keys,
    logCheck: createLogCheck({ db, storedProofs, threads, log }),
    proofReads: createProofReads({ tallies, proofs, verification }),
    proofs,
    publishedKeys: createPublishedKeys({ db, registry }),
    registry,
    tallies,
    verification,
    /** Stops the workers once their current batches are finished. */
    async stop() {
      stopping.abort();
      await Promise.all([
        sealer.stop(),
        tallies.stop(),
        custody.stop(),
        backlog.stop(),
        threads.close(),
      ]);
    },
  };
}
