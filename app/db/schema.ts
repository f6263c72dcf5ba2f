import type { InferKyselyDB } from '@mikro-orm/postgresql';
import { Account, Credential, PurgeRun, Registration } from '../accounts/entity.ts';
import {
  AuditDeadLetter,
  AuditEntry,
  AuditMark,
  AuditSequence,
  AuditTally,
  AuditTotal,
} from '../audit/entity.ts';
import { Identity, KnownAddress, LoginSession, RefreshToken } from '../auth/entity.ts';
import { Device, SessionDevice } from '../devices/entity.ts';
import { Document, DocumentKeyword, DocumentVersion } from '../documents/entity.ts';
import { KeyEnvelope } from '../envelopes/entity.ts';
import { IdempotencyKey } from '../idempotency/entity.ts';
import { SigningKey } from '../keys/entity.ts';
import { OutboxMessage } from '../outbox/entity.ts';
import { DocumentShare, ShareRecipient, SharingKey } from '../sharing/entity.ts';
import { SyncCounter, SyncEpoch, SyncHistory, SyncObject, SyncRequest } from '../sync/entity.ts';
import { UploadPart, UploadSession } from '../uploads/entity.ts';

/** Every table. Entities are pure definitions, so the database may know the features' own. */
export const entities = [
  Account,
  AuditDeadLetter,
  AuditEntry,
  AuditMark,
  AuditSequence,
  AuditTally,
  AuditTotal,
  Credential,
  Device,
  Document,
  DocumentKeyword,
  DocumentShare,
  DocumentVersion,
  IdempotencyKey,
  Identity,
  KeyEnvelope,
  KnownAddress,
  LoginSession,
  OutboxMessage,
  PurgeRun,
  RefreshToken,
  Registration,
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
] as const;

/** Tables and columns by their SQL names, for Kysely. */
export type Schema = InferKyselyDB<(typeof entities)[number]>;
