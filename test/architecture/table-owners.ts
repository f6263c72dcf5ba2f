/** Maps each table to the folders that may name it in SQL, with everything below them. */
export type TableOwners = Readonly<Record<string, readonly string[]>>;

/** A file that names a table of another owner, and the reason why it does not ask that owner. */
export interface TableException {
  readonly table: string;
  readonly file: string;
  readonly reason: string;
}

export const tableOwners: TableOwners = {
  accounts: ['app/accounts', 'app/registration', 'app/lifecycle'],
  audit_archive_erasures: ['app/audit'],
  audit_archives: ['app/audit-trail', 'app/audit'],
  audit_dead_letters: ['app/audit'],
  audit_entries: ['app/audit'],
  audit_log: ['app/audit-trail', 'app/audit'],
  audit_marks: ['app/restore'],
  audit_queue: ['app/audit'],
  audit_seals: ['app/audit'],
  audit_tallies: ['app/audit'],
  audit_totals: ['app/audit'],
  audit_trails: ['app/audit-trail', 'app/audit'],
  credentials: ['app/accounts', 'app/registration', 'app/lifecycle'],
  devices: ['app/devices', 'app/sessions'],
  document_keywords: ['app/documents'],
  document_shares: ['app/sharing'],
  document_versions: ['app/documents'],
  documents: ['app/documents'],
  downloads: ['app/audit'],
  removed_documents: ['app/documents'],
  encryption_keys: ['app/encryption-keys'],
  evidence_exports: ['app/evidence-exports'],
  idempotency_keys: ['app/idempotency'],
  identities: ['app/tokens'],
  isolation_canaries: ['app/db/isolation'],
  job_totals: ['app/jobs'],
  jobs: ['app/jobs'],
  key_envelopes: ['app/envelopes'],
  known_addresses: ['app/auth'],
  log_findings: ['app/audit'],
  log_walks: ['app/audit'],
  login_sessions: ['app/sessions'],
  maintenance_locks: ['app/maintenance'],
  maintenance_runs: ['app/maintenance'],
  memory_records: ['app/memory'],
  mfa_pending: ['app/mfa'],
  mfa_users: ['app/mfa'],
  object_checks: ['app/documents'],
  outbox: ['app/outbox'],
  registrations: ['app/registration', 'app/lifecycle'],
  replaced_keys: ['app/replaced-keys'],
  restore_acceptances: ['app/restore'],
  sender_blocks: ['app/sharing'],
  session_devices: ['app/devices', 'app/sessions'],
  share_recipients: ['app/sharing'],
  sharing_keys: ['app/identities', 'app/sharing'],
  signing_keys: ['app/signing-keys'],
  sync_counters: ['app/sync'],
  sync_epochs: ['app/sync'],
  sync_history: ['app/sync'],
  sync_objects: ['app/sync'],
  sync_requests: ['app/sync'],
  upload_parts: ['app/uploads'],
  upload_sessions: ['app/uploads'],
  usage: ['app/usage'],
};

const sharedRows = 'Row-level security shows shared documents by a join of shares and documents.';
const wholeLog = 'A restore compares the log, its counters and the keys in one transaction.';
const everyReference =
  'An object may go only if no row of any feature refers to it, in one statement.';

/** Files that name a table of another owner. An entry that is not needed any more is a problem. */
export const tableExceptions: readonly TableException[] = [
  {
    table: 'document_shares',
    file: 'app/documents/records/readable.ts',
    reason: 'A statement that reads a document repeats the condition of row-level security.',
  },
  { table: 'documents', file: 'app/sharing/received.ts', reason: sharedRows },
  { table: 'document_versions', file: 'app/sharing/received.ts', reason: sharedRows },
  { table: 'documents', file: 'app/sharing/share-rows.ts', reason: sharedRows },
  {
    table: 'accounts',
    file: 'app/sharing/recipients.ts',
    reason: 'One statement finds account and key, so that both kinds of recipients cost the same.',
  },
  {
    table: 'accounts',
    file: 'app/audit/tallies/recorder.ts',
    reason: 'The statement that takes counts reads the present tenants of their accounts.',
  },
  {
    table: 'accounts',
    file: 'app/audit/custody/download-rows.ts',
    reason: 'The statement that takes ended downloads reads the present tenants of their owners.',
  },
  {
    table: 'audit_entries',
    file: 'app/signing-keys/published-keys.ts',
    reason: 'The published record of a key is its sealed entry; audit lies above keys.',
  },
  {
    table: 'audit_seals',
    file: 'app/signing-keys/rows/key-rows.ts',
    reason: 'A key is published once its record is sealed; audit lies above keys.',
  },
  { table: 'audit_totals', file: 'app/restore/high-water-marks/log-state.ts', reason: wholeLog },
  { table: 'audit_seals', file: 'app/restore/high-water-marks/log-state.ts', reason: wholeLog },
  { table: 'signing_keys', file: 'app/restore/high-water-marks/log-state.ts', reason: wholeLog },
  { table: 'signing_keys', file: 'app/restore/check-at-start.ts', reason: wholeLog },
  { table: 'audit_entries', file: 'app/restore/restoration.ts', reason: wholeLog },
  { table: 'document_versions', file: 'app/uploads/cleanup/references.ts', reason: everyReference },
  { table: 'evidence_exports', file: 'app/uploads/cleanup/references.ts', reason: everyReference },
  {
    table: 'document_versions',
    file: 'app/uploads/cleanup/unused-uploads.ts',
    reason: everyReference,
  },
];
