export interface TaskPool {
  /**
   * Starts a task. Resolves as soon as another task may start. Rejects with the first error of any
   * task once one has failed; the given task is started nevertheless.
   */
  start(task: () => Promise<void>): Promise<void>;
  /** Waits until all tasks have ended. Then throws the first error of any task, if there is one. */
  finish(): Promise<void>;
  /** Resolves once all tasks have ended, whether or not they failed. Never throws. */
  settle(): Promise<void>;
}

/**
 * Creates a pool that runs up to `limit` tasks at a time. Throws RangeError for a limit below 1.
 */
export function createTaskPool(limit: number): TaskPool {
  if (!(limit >= 1)) throw new RangeError('The limit of concurrent tasks must be 1 or more.');
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
