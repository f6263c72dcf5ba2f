/** Maps each table to the folders that may name it in SQL, with everything below them. */
export type TableOwners = Readonly<Record<string, readonly string[]>>;

/** A file that names a table of another owner, and the reason why it does not ask that owner. */
export interface TableException {
  readonly table: string;
  readonly file: string;
  readonly reason: string;
}

export const tableOwners: TableOwners = {
  accounts: ['app/accounts'],
  audit_dead_letters: ['app/audit'],
  audit_entries: ['app/trail', 'app/audit'],
  audit_marks: ['app/restore'],
  audit_sequences: ['app/trail', 'app/audit'],
  audit_tallies: ['app/audit'],
  audit_totals: ['app/audit'],
  credentials: ['app/accounts'],
  devices: ['app/devices'],
  document_keywords: ['app/documents'],
  document_shares: ['app/sharing'],
  document_versions: ['app/documents'],
  documents: ['app/documents'],
  idempotency_keys: ['app/idempotency'],
  identities: ['app/tokens'],
  key_envelopes: ['app/envelopes'],
  known_addresses: ['app/auth'],
  login_sessions: ['app/sessions'],
  outbox: ['app/outbox'],
  purge_runs: ['app/lifecycle'],
  refresh_tokens: ['app/sessions'],
  registrations: ['app/registration'],
  session_devices: ['app/devices'],
  share_recipients: ['app/sharing'],
  sharing_keys: ['app/sharing'],
  signing_keys: ['app/keys'],
  sync_counters: ['app/sync'],
  sync_epochs: ['app/sync'],
  sync_history: ['app/sync'],
  sync_objects: ['app/sync'],
  sync_requests: ['app/sync'],
  upload_parts: ['app/uploads'],
  upload_sessions: ['app/uploads'],
};

export const tableExceptions: readonly TableException[] = [];
