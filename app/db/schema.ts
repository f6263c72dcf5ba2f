import type { InferKyselyDB } from '@mikro-orm/postgresql';
import { IsolationCanary } from './canary/canary.ts';
import { Account, Credential, Registration, Usage } from './tables/accounts.ts';
import { AuditArchive, AuditArchiveErasure } from './tables/audit/archives.ts';
import { AuditEntry, AuditLog, AuditSeal, AuditTrail } from './tables/audit/log.ts';
import { AuditMark, AuditTotal, RestoreAcceptance } from './tables/audit/marks.ts';
import { AuditDeadLetter, AuditQueue } from './tables/audit/queue.ts';
import { AuditTally } from './tables/audit/tallies.ts';
import { Identity, KnownAddress, LoginSession, MfaPending, MfaUser } from './tables/auth.ts';
import { Device, MemoryRecord, SessionDevice } from './tables/devices.ts';
import {
  Document,
  DocumentKeyword,
  DocumentVersion,
  Download,
  ObjectCheck,
  RemovedDocument,
} from './tables/documents.ts';
import { KeyEnvelope, ReplacedKey } from './tables/envelopes.ts';
import { IdempotencyKey } from './tables/idempotency.ts';
import { EncryptionKey, SigningKey } from './tables/keys.ts';
import { LogFinding, LogWalk } from './tables/maintenance/log-checks.ts';
import { DocumentShare, SenderBlock, ShareRecipient, SharingKey } from './tables/sharing.ts';
import { SyncCounter, SyncEpoch, SyncHistory, SyncObject, SyncRequest } from './tables/sync.ts';
import { UploadPart, UploadSession } from './tables/uploads.ts';
import { EvidenceExport, Job, JobTotal, OutboxMessage } from './tables/workers.ts';
import { MaintenanceLock, MaintenanceRun } from './tables/maintenance/runs.ts';

/** The entities of all tables, of every feature. */
export const entities = [
  Account,
  AuditArchive,
  AuditArchiveErasure,
  AuditDeadLetter,
  AuditEntry,
  AuditLog,
  AuditMark,
  AuditQueue,
  AuditSeal,
  AuditTrail,
  AuditTally,
  AuditTotal,
  Credential,
  Device,
  Document,
  DocumentKeyword,
  DocumentShare,
  DocumentVersion,
  Download,
  EncryptionKey,
  EvidenceExport,
  IdempotencyKey,
  Identity,
  IsolationCanary,
  Job,
  JobTotal,
  KeyEnvelope,
  KnownAddress,
  LogFinding,
  LoginSession,
  LogWalk,
  MaintenanceLock,
  MaintenanceRun,
  MemoryRecord,
  MfaPending,
  MfaUser,
  ObjectCheck,
  OutboxMessage,
  Registration,
  RemovedDocument,
  ReplacedKey,
  RestoreAcceptance,
  SenderBlock,
  SessionDevice,
  ShareRecipient,
  SharingKey,
  SigningKey,
  SyncCounter,
  SyncEpoch,
  SyncHistory,
  SyncObject,
  SyncRequest,
  UploadPart,
  UploadSession,
  Usage,
] as const;

/** The tables, views and columns by their SQL names, for Kysely. */
export type Schema = InferKyselyDB<(typeof entities)[number]>;

/** The tables alone, without the view of audit entries. */
export type TableSchema = Omit<Schema, 'audit_entries'>;
