import type { AuditAction } from './event.ts';

/** A worker or command that appends audit entries, which the routes do not document. */
interface Cause {
  /** The name, as Markdown. */
  readonly name: string;
  readonly actions: readonly AuditAction[];
  /** When the entries are appended, or why no entries are appended. */
  readonly note?: string;
}

/** The workers and commands for docs/audit-actions.md; the routes state their own entries. */
export const workersAndCommands: readonly Cause[] = [
  { name: 'sealer', actions: [], note: 'it signs entries' },
  {
    name: 'tallies',
    actions: ['auth.login_failed', 'audit.read', 'mfa.failed', 'internal_key.used'],
  },
  {
    name: 'custody',
    actions: ['document.downloaded'],
    note: 'the routes and jobs that send a file store the download, which one process records',
  },
  {
    name: 'custody of internal API keys',
    actions: ['internal_keys.configured'],
    note: 'when the keys of `INTERNAL_API_KEYS_FILE` are others than before',
  },
  {
    name: 'registry of keys',
    actions: ['key.created'],
    note: 'for each key that it finds in the token',
  },
  { name: 'outbox `registration`', actions: ['account.registered'] },
  {
    name: 'job `EMAIL_VALIDATION`',
    actions: ['account.token_renewed'],
    note: 'if an account with the e-mail address waits for its validation',
  },
  {
    name: 'job `EVIDENCE_EXPORT`',
    actions: ['document.exported', 'document.downloaded'],
    note: 'the second for each version whose file is exported',
  },
  {
    name: 'job `DOCUMENT_FIXITY`',
    actions: ['document.fixity_failed'],
    note: 'for each version whose stored file is newly found damaged or missing',
  },
  { name: 'outbox `account.sweep`', actions: ['account.swept'] },
  {
    name: 'outbox `email`, `object.delete`, `multipart.abort`, `mfa.forget`',
    actions: [],
    note: 'the transaction that added the message appended the entry',
  },
  { name: 'revocations', actions: [], note: 'they only read' },
  {
    name: 'high-water marks',
    actions: ['vault.marked', 'vault.restored'],
    note: 'the first after entries were signed, the second at a start that an operator accepted',
  },
  { name: '`probatio grant`', actions: ['account.granted'] },
  { name: '`probatio revoke`', actions: ['account.revoked'] },
  { name: '`probatio token`', actions: ['auth.token_issued'], note: 'in development only' },
  {
    name: '`probatio restored`',
    actions: ['vault.restored'],
    note: 'with `--accept` the start that it accepts appends the entry',
  },
  {
    name: '`probatio maintenance`, `probatio keys`, `probatio status`',
    actions: [],
    note: 'they call routes, which append entries',
  },
  {
    name: '`probatio migrate`, `probatio api-key create`',
    actions: [],
    note: 'they do not need the audit log',
  },
];
