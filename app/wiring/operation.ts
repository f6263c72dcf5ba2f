import { createPurge } from '../lifecycle/purge/purge.ts';
import type { Clock } from '../async/clock.ts';
import type { Config } from '../config/config.ts';
import { createDocumentExpiry } from '../documents/expiry.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import type { EncryptionKeys } from '../encryption-keys/encryption-keys.ts';
import { createCacheProbe } from '../health/cache.ts';
import { createHealth } from '../health/health.ts';
import { createKeyAdoption } from '../signing-keys/adoption.ts';
import { createKeyCompromise } from '../signing-keys/compromise.ts';
import { createHeldKeys } from '../signing-keys/held-keys.ts';
import { createKeyRotation } from '../signing-keys/rotation.ts';
import { createMaintenance } from '../maintenance/maintenance.ts';
import { createRunRecords } from '../maintenance/records/run-records.ts';
import type { Admission } from '../restore/admission.ts';
import type { MarkObjects } from '../restore/high-water-marks/mark-objects.ts';
import { createMarkStatus } from '../restore/mark-status.ts';
import type { UnfinishedMfa } from '../mfa/unfinished.ts';
import type { OldJobs } from '../jobs/operation/old-jobs.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Log } from '../telemetry/log.ts';
import type { AccessServices } from './access.ts';
import type { AuditServices } from './audit.ts';
import type { Backends } from './backends.ts';

interface OperationOptions
  extends Backends, Omit<AuditServices, 'stop'>, Omit<AccessServices, 'stop'> {
  readonly admission: Admission;
  readonly cipher: RowCipher;
  readonly encryptionKeys: EncryptionKeys;
  readonly objects: MarkObjects;
  readonly oldJobs: OldJobs;
  readonly outbox: Outbox;
  readonly unfinishedMfa: UnfinishedMfa;
  readonly writeMark: () => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates the services for operators and CronJobs. */
export function createOperation(config: Config, options: OperationOptions) {
  const { redis, clock } = options;
  let draining = false;
  const isDraining = () => draining;
  const documentExpiry = createDocumentExpiry({ ...options, ...config.documents, isDraining });
  const records = createRunRecords(options);
  return {
    cache: createCacheProbe(redis, clock),
    documentExpiry,
    health: createHealth({ ...options, isDraining }),
    heldKeys: createHeldKeys(options),
    keyAdoption: createKeyAdoption(options),
    keyCompromise: createKeyCompromise(options),
    keyRotation: createKeyRotation({ ...options, ...config.keys }),
    maintenance: createMaintenance({
      ...options,
      ...config.maintenance,
      documentExpiry,
      records,
      isDraining,
    }),
    markStatus: createMarkStatus(options),
    purge: createPurge({ ...options, records, isDraining }),
    /** Marks this process as not ready for traffic. */
    beginDrain() {
      draining = true;
    },
  };
}
