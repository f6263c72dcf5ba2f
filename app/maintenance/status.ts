import type { z } from 'zod';
import { readMonthsAway } from '../audit-trail/archived-months.ts';
import { readQueues } from '../audit/dlq/alerts.ts';
import type { Dlq } from '../audit/dlq/dlq.ts';
import { createQueueCursor } from '../audit/sealing/queue-cursor.ts';
import { readMonthsAhead } from '../audit/partitions/partitions.ts';
import { lengthy, type Database, type Tx } from '../db/database.ts';
import { readStats } from '../jobs/operation/stats.ts';
import { readOutboxState } from '../outbox/parked.ts';
import { findRuns } from './records/recorded-runs.ts';
import { TaskName, type MaintenanceStatus } from './schema.ts';
import type { RunRequest } from './tasks/task.ts';

interface StatusOptions {
  readonly db: Database;
  readonly dlq: Pick<Dlq, 'stats'>;
}

/** Creates the function that tells how the tasks fare, and what waits to be done. */
export function createStatus({ db, dlq }: StatusOptions) {
  async function read(tx: Tx) {
    const tasks = [];
    for (const task of TaskName.options) tasks.push({ task, ...(await findRuns(tx, task)) });
    const { totalProcessed: _sum, ...jobs } = await readStats(tx, 'all tenants');
    const { entries } = await readQueues(tx, createQueueCursor());
    const backlog = { unsigned: entries.count, oldestAt: entries.oldest?.since ?? null };
    const monthsAhead = await readMonthsAhead(tx);
    const partitions = { monthsAhead, archivedMonths: [...(await readMonthsAway(tx))] };
    return { tasks, outbox: await readOutboxState(tx), jobs, backlog, partitions };
  }

  return async (request: RunRequest): Promise<z.input<typeof MaintenanceStatus>> => {
    const state = await db.asService(read, lengthy);
    const { pending, oldestAt } = await dlq.stats(request);
    return { ...state, deadLetters: { pending, oldestAt } };
  };
}
