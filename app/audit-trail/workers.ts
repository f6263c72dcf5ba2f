import type { AuditAction } from './event.ts';

/** The audit entries of a worker or command, which no route shows. */
interface Cause {
  /** The name, as Markdown. */
  readonly name: string;
  readonly actions: readonly AuditAction[];
  /** When entries are appended, or why there are none. */
  readonly note?: string;
}

/** The workers and commands for docs/audit-actions.md; the routes state their own entries. */
export const workersAndCommands: readonly Cause[] = [
  { name: 'sealer', actions: [], note: 'it signs entries' },
  { name: 'tallies', actions: ['auth.login_failed', 'audit.read'] },
  {
    name: 'registry of keys',
    actions: ['key.created'],
    note: 'for each key that it finds in the token',
  },
  { name: 'outbox `registration`', actions: ['account.registered'] },
  { name: 'outbox `account.sweep`', actions: ['account.swept'] },
  {
    name: 'outbox `email`, `object.delete`, `multipart.abort`',
    actions: [],
    note: 'the entry of the transaction that promised them covers them',
  },
  { name: 'revocations', actions: [], note: 'they only read' },
  {
    name: 'high-water marks',
    actions: ['vault.marked', 'vault.restored'],
    note: 'after entries were signed; at a start that is told to accept older data',
  },
  { name: '`probatio grant`', actions: ['account.granted'] },
  { name: '`probatio revoke`', actions: ['account.revoked'] },
  { name: '`probatio restored`', actions: ['vault.restored'] },
  {
    name: '`probatio maintenance`, `probatio keys`',
    actions: [],
    note: 'they call routes, which leave entries',
  },
  {
    name: '`probatio migrate`, `probatio api-key create`',
    actions: [],
    note: 'they work before there is a log',
  },
];
