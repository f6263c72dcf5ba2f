import { createClosure } from '../lifecycle/closure/closure.ts';
import type { Clock } from '../async/clock.ts';
import type { HeavyWork } from '../async/heavy-work.ts';
import type { Config } from '../config/config.ts';
import { createDevices } from '../devices/devices.ts';
import { createDeviceEnvelopes } from '../devices/envelopes.ts';
import { createCertification } from '../documents/certification/certification.ts';
import { createDocumentProofs } from '../documents/certification/document-proofs.ts';
import { createDownloads } from '../documents/downloads/downloads.ts';
import { createFormUpload } from '../documents/form-upload/form-upload.ts';
import { createDocumentMetadata } from '../documents/metadata/metadata.ts';
import { createDocumentSearch } from '../documents/search/search.ts';
import { createDocuments } from '../documents/documents.ts';
import { createDocumentVersions } from '../documents/versions/versions.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import { createKeyForms } from '../envelopes/key-form.ts';
import { createEnvelopes } from '../envelopes/envelopes.ts';
import { createIdempotencyKeys } from '../idempotency/kept-responses.ts';
import type { JsonBodies } from '../http/bodies/json-body.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { createReplacedKeys } from '../replaced-keys/replaced-keys.ts';
import { createMemoryRecords } from '../memory/memory-records.ts';
import { createSenderBlocks } from '../sharing/blocks/blocks.ts';
import { createIdentities } from '../identities/identities.ts';
import { createRecipients } from '../sharing/recipients.ts';
import { createSharing } from '../sharing/sharing.ts';
import { createStatements } from '../statements/statements.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';
import type { Plans } from '../plans/plans.ts';
import type { Log } from '../telemetry/log.ts';
import type { ChangeFeeds } from '../sync/feed/feeds.ts';
import { createSyncReading } from '../sync/reading/reading.ts';
import { createSynchronization } from '../sync/synchronization.ts';
import { createUploadServices } from '../uploads/upload-services.ts';
import { createUsage } from '../usage/usage.ts';
import type { AccessServices } from './access.ts';
import type { AuditServices } from './audit.ts';
import type { Backends } from './backends.ts';

interface VaultOptions extends Backends, Omit<AuditServices, 'stop'>, Omit<AccessServices, 'stop'> {
  readonly changeFeeds: ChangeFeeds;
  readonly cipher: RowCipher;
  readonly heavyWork: HeavyWork;
  readonly jsonBodies: JsonBodies;
  readonly outbox: Outbox;
  readonly plans: Plans;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Creates the services for the data of users, and the service that removes this data when an
 * account is closed.
 */
export function createVault(config: Config, options: VaultOptions) {
  const {
    db,
    cipher,
    act,
    audit,
    custody,
    proofs,
    proofReads,
    outbox,
    plans,
    store,
    keys,
    limits,
  } = options;
  const { clock, log } = options;
  const { revocations, sessionBinding: binding, deviceGuard } = options;
  const { uploads, uploadSessions, parts, completion, streamedUploads } = createUploadServices(
    config,
    { ...options, store: options.metrics.transfers.countParts(store) },
  );
  const { issuer, unknownUser } = config.auth;
  const statements = createStatements({ issuer, clock });
  const documents = createDocuments({ db, act, outbox, uploads, statements, clock });
  const recipients = createRecipients({ db, keys, limits, plans });
  const senderBlocks = createSenderBlocks({ db, act });
  const sharing = createSharing({ db, act, statements, recipients, senderBlocks, clock });
  const toEnvelope = createKeyForms(config.keys);
  return {
    certification: createCertification({ db, act, statements, proofs, store, clock }),
    closure: createClosure({
      issuer,
      db,
      act,
      audit,
      outbox,
      uploads,
      revocations,
      clock,
    }),
    completion,
    documentMetadata: createDocumentMetadata({ act }),
    documentProofs: createDocumentProofs({ db, proofs, proofReads }),
    documentSearch: createDocumentSearch({ db }),
    documentVersions: createDocumentVersions({ db, act, uploads, clock }),
    deviceEnvelopes: createDeviceEnvelopes({ db, cipher, act, toEnvelope, binding, clock }),
    devices: createDevices({ db, act, revocations, binding, clock }),
    documents,
    downloads: createDownloads({ db, store, custody, revocations, log }),
    envelopes: createEnvelopes({ issuer, unknownUser, db, cipher, act, toEnvelope, clock }),
    formUpload: createFormUpload({
      act,
      uploads,
      streamedUploads,
      documents,
      jsonBodies: options.jsonBodies,
    }),
    idempotencyKeys: createIdempotencyKeys({ db }),
    memoryRecords: createMemoryRecords({ db, act, deviceGuard }),
    parts,
    recipients,
    replacedKeys: createReplacedKeys({ issuer, db, cipher, act, clock }),
    senderBlocks,
    sharing,
    identities: createIdentities({ issuer, db, act, clock }),
    synchronization: createSynchronization({
      act,
      deviceGuard,
      clock,
      rules: config.sync.rules,
      heavyWork: options.heavyWork,
      onChanged: options.changeFeeds.changed,
    }),
    syncReading: createSyncReading({ db, deviceGuard, clock }),
    uploadSessions,
    usage: createUsage({ db, plans }),
  };
}
