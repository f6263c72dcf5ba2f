import { asAdmin, type DatabaseAccess } from '../../../app/dev/postgres/database.ts';
import {
  childrenOf,
  processorMs,
  reapedProcessorMs,
} from '../../support/processes/process-figures.ts';

/**
 * Returns a function that returns the processor milliseconds of Postgres so far, with all of its
 * processes, those that have ended too.
 */
export async function meterPostgres(access: DatabaseAccess): Promise<() => number> {
  const { rows } = await asAdmin(access, (client) =>
    client.query<{ readonly file: string }>(`select pg_read_file('postmaster.pid') as file`),
  );
  const postmaster = Number.parseInt(rows[0]?.file ?? '', 10);
  const runningMs = (pid: number): number => {
    try {
      return processorMs(pid);
    } catch {
      // It ended since, and is counted with the ended ones next time.
      return 0;
    }
  };
  return () =>
    processorMs(postmaster) +
    reapedProcessorMs(postmaster) +
    childrenOf(postmaster).reduce((sum, pid) => sum + runningMs(pid), 0);
}
