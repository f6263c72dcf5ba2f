import { parseOptions, UsageError, type Command } from '../command.ts';
import { internalApiOptions, internalApiUsage, openInternalApi } from '../internal-api.ts';

const paths: ReadonlyMap<string, string> = new Map([
  ['purge-accounts', 'v1/auth/purge/expired'],
  ['expire-uploads', 'v1/internal/maintenance/expire-uploads'],
  ['expire-documents', 'v1/internal/maintenance/expire-documents'],
  ['collect-garbage', 'v1/internal/maintenance/collect-garbage'],
  ['retry-dlq', 'v1/internal/maintenance/retry-dlq'],
]);

export const maintenance: Command = {
  usage: `usage: probatio maintenance <task> [--dry-run] [--url URL] [--key-file FILE]

Asks a running app to do a task, waits until it is done and prints the report. It ends with 1 unless
the task was done.

  purge-accounts     removes accounts that were never validated in time
  expire-uploads     ends uploads that nobody goes on with
  expire-documents   ends versions of documents that were not sealed in time
  collect-garbage    removes what nothing refers to from the object store, and rows out of date
  retry-dlq          has the audit entries that could not be signed signed again

  --dry-run          reports what would be done
${internalApiUsage}`,
  async run([task = '', ...args]) {
    const path = paths.get(task);
    if (path === undefined) throw new UsageError(`the tasks are: ${[...paths.keys()].join(', ')}`);
    const values = parseOptions(args, { 'dry-run': { type: 'boolean' }, ...internalApiOptions });
    const api = await openInternalApi(values);
    const query: Record<string, string> = values['dry-run'] === true ? { dryRun: 'true' } : {};
    return `${await api.ask({ method: 'POST', path, query })}\n`;
  },
};
