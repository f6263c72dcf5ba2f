import type { InferKyselyDB } from '@mikro-orm/postgresql';
import { Account, Credential, PurgeRun, Registration } from '../accounts/entity.ts';
import { AuditDeadLetter, AuditEntry, AuditSequence, AuditTally } from '../audit/entity.ts';
import { Identity, KnownAddress, LoginSession, RefreshToken } from '../auth/entity.ts';
import { Document, DocumentKeyword, DocumentVersion } from '../documents/entity.ts';
import { KeyEnvelope } from '../envelopes/entity.ts';
import { IdempotencyKey } from '../idempotency/entity.ts';
import { SigningKey } from '../keys/entity.ts';
import { OutboxMessage } from '../outbox/entity.ts';
import { DocumentShare, ShareRecipient, SharingKey } from '../sharing/entity.ts';
import { UploadPart, UploadSession } from '../uploads/entity.ts';

/** Every table. Entities are pure definitions, so the database may know the features' own. */
export const entities = [
  Account,
  AuditDeadLetter,
  AuditEntry,
  AuditSequence,
  AuditTally,
  Credential,
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
  ShareRecipient,
  SharingKey,
  SigningKey,
  UploadPart,
  UploadSession,
] as const;

/** Tables and columns by their SQL names, for Kysely. */
export type Schema = InferKyselyDB<(typeof entities)[number]>;
