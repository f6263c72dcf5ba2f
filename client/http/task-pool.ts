export interface TaskPool {
  /** Starts the task; resolves as soon as another may start. Throws what any task threw first. */
  start(task: () => Promise<void>): Promise<void>;
  /** Resolves once all are done. Throws what any task threw first. */
  finish(): Promise<void>;
  /** Resolves once all are done, whatever became of them. */
  settle(): Promise<void>;
}

/** Runs up to `limit` tasks at a time. Throws RangeError unless that is one or more. */
export function createTaskPool(limit: number): TaskPool {
  if (!(limit >= 1)) throw new RangeError('nothing can run without a place for one at a time');
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];

  async function run(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (error) {
      failures.push(error);
    }
  }

  function throwFailure(): void {
    if (failures.length > 0) throw failures[0];
  }

  async function settle(): Promise<void> {
    await Promise.all(running);
  }

  return {
    settle,
    async start(task) {
      const done = run(task).finally(() => running.delete(done));
      running.add(done);
      while (running.size >= limit && failures.length === 0) await Promise.race(running);
      throwFailure();
    },
    async finish() {
      await settle();
      throwFailure();
    },
  };
}
