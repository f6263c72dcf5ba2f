import { createClosure } from '../lifecycle/closure/closure.ts';
import type { Clock } from '../async/clock.ts';
import type { Config } from '../config/config.ts';
import { createDevices } from '../devices/devices.ts';
import { createDeviceEnvelopes } from '../devices/envelopes.ts';
import { createCertification } from '../documents/sealing/certification.ts';
import { createDocumentProofs } from '../documents/sealing/document-proofs.ts';
import { createDownloads } from '../documents/downloads/downloads.ts';
import { createFormUpload } from '../documents/form-upload/form-upload.ts';
import { createDocumentMetadata } from '../documents/metadata/metadata.ts';
import { createDocumentSearch } from '../documents/search/search.ts';
import { createDocuments } from '../documents/documents.ts';
import { createDocumentVersions } from '../documents/versions/versions.ts';
import { createKeyForms } from '../envelopes/key-form.ts';
import { createEnvelopes } from '../envelopes/envelopes.ts';
import { createIdempotencyKeys } from '../idempotency/idempotency-keys.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { createSharingKeys } from '../sharing/keys.ts';
import { createRecipients } from '../sharing/recipients.ts';
import { createSharing } from '../sharing/sharing.ts';
import type { Log } from '../telemetry/log.ts';
import type { ChangeFeeds } from '../sync/feed/feeds.ts';
import { createSyncReading } from '../sync/reading/reading.ts';
import { createSynchronization } from '../sync/synchronization.ts';
import { createUploadServices } from '../uploads/upload-services.ts';
import type { AccessServices } from './access.ts';
import type { AuditServices } from './audit.ts';
import type { Backends } from './backends.ts';

interface VaultOptions extends Backends, Omit<AuditServices, 'stop'>, Omit<AccessServices, 'stop'> {
  readonly changeFeeds: ChangeFeeds;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
}

/** What users keep here: files, documents, shares and keys; and the end of it all with the account. */
export function createVault(config: Config, options: VaultOptions) {
  const { db, audit, proofs, proofReads, outbox, store, keys, limits, clock, log } = options;
  const { revocations, sessionBinding: binding, deviceGuard } = options;
  const { uploads, uploadSessions, parts, completion, streamedUploads } = createUploadServices(
    config,
    options,
  );
  const documents = createDocuments({ db, audit, outbox, uploads, clock });
  const recipients = createRecipients({ db, keys, limits });
  const sharing = createSharing({ db, audit, recipients, clock });
  const { issuer, unknownUser } = config.auth;
  const toEnvelope = createKeyForms(config.keys);
  return {
    certification: createCertification({ db, audit, proofs, store, clock }),
    closure: createClosure({
      issuer,
      db,
      audit,
      outbox,
      documents,
      sharing,
      revocations,
      clock,
    }),
    completion,
    documentMetadata: createDocumentMetadata({ db, audit }),
    documentProofs: createDocumentProofs({ db, proofs, proofReads }),
    documentSearch: createDocumentSearch({ db }),
    documentVersions: createDocumentVersions({ db, audit, uploads, clock }),
    deviceEnvelopes: createDeviceEnvelopes({ db, audit, toEnvelope, binding, clock }),
    devices: createDevices({ db, audit, revocations, binding, clock }),
    documents,
    downloads: createDownloads({ db, store, revocations, log }),
    envelopes: createEnvelopes({ issuer, unknownUser, db, audit, toEnvelope, clock }),
    formUpload: createFormUpload({ db, uploads, streamedUploads, documents }),
    idempotencyKeys: createIdempotencyKeys({ db }),
    parts,
    recipients,
    sharing,
    sharingKeys: createSharingKeys({ db, audit, clock }),
    synchronization: createSynchronization({
      db,
      audit,
      deviceGuard,
      clock,
      rules: config.sync.rules,
      onChanged: options.changeFeeds.changed,
    }),
    syncReading: createSyncReading({ db, deviceGuard, clock }),
    uploadSessions,
  };
}
