import { parseOptions, UsageError, type Command } from '../command.ts';
import { internalApiOptions, internalApiUsage, openInternalApi } from '../internal-api.ts';

const paths: ReadonlyMap<string, string> = new Map([
  ['purge-accounts', 'v1/auth/purge/expired'],
  ['purge-jobs', 'v1/internal/maintenance/purge-jobs'],
  ['expire-uploads', 'v1/internal/maintenance/expire-uploads'],
  ['expire-documents', 'v1/internal/maintenance/expire-documents'],
  ['collect-garbage', 'v1/internal/maintenance/collect-garbage'],
  ['drain-outbox', 'v1/internal/maintenance/drain-outbox'],
  ['retry-dlq', 'v1/internal/maintenance/retry-dlq'],
  ['reencrypt', 'v1/internal/maintenance/reencrypt'],
  ['verify-files', 'v1/internal/maintenance/verify-files'],
  ['verify-log', 'v1/internal/maintenance/verify-log'],
]);

export const maintenance: Command = {
  usage: `usage: probatio maintenance <task> [--dry-run] [--url URL] [--key-file FILE]

Runs a maintenance task in a running app, waits until it ends and prints the report. Exits with 1 if
the task failed.

  purge-accounts     deletes accounts that were not validated in time
  purge-jobs         removes jobs that have been over for 30 days
  expire-uploads     expires upload sessions that were not completed in time
  expire-documents   expires document versions that were not sealed in time
  collect-garbage    deletes unreferenced objects from the object store, and obsolete rows
  drain-outbox       tries e-mails, removals and the like again that failed 20 times
  retry-dlq          retries the audit entries that could not be signed
  reencrypt          encrypts what is stored with the newest encryption key
  verify-files       reads stored files again and compares them with their hashes
  verify-log         verifies the newest entries of the audit log and its next stretch

  --dry-run          reports what the task would do
${internalApiUsage}`,
  async run([task = '', ...args]) {
    const path = paths.get(task);
    if (path === undefined)
      throw new UsageError(`the task must be one of: ${[...paths.keys()].join(', ')}`);
    const values = parseOptions(args, { 'dry-run': { type: 'boolean' }, ...internalApiOptions });
    const api = await openInternalApi(values);
    const query: Record<string, string> = values['dry-run'] === true ? { dryRun: 'true' } : {};
    return `${await api.ask({ method: 'POST', path, query })}\n`;
  },
};
