import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Thrown if the pool is closed, if no thread could accept the request, or if its thread died. */
export class ThreadPoolError extends Error {}

/** A pool of threads that all run the same program. */
interface ThreadPool<Request, Reply> {
  /** Runs a request on a free thread; waits while all are busy. Throws ThreadPoolError. */
  run(request: Request): Promise<Reply>;
  /** Terminates the threads. Requests that run or wait are rejected with ThreadPoolError. */
  close(): Promise<void>;
}

interface Job<Request, Reply> {
  readonly request: Request;
  resolve(reply: Reply): void;
  reject(error: ThreadPoolError): void;
}

interface ThreadPoolOptions extends Pick<WorkerOptions, 'workerData' | 'resourceLimits'> {
  readonly program: URL;
  readonly count: number;
}

/**
 * Creates a pool of at most `count` threads, started on demand. Each runs `program`, which must
 * post exactly one reply for each message it receives.
 */
export function createThreadPool<Request, Reply>(
  options: ThreadPoolOptions,
): ThreadPool<Request, Reply> {
  const { program, count, ...workerOptions } = options;
  const waiting: Job<Request, Reply>[] = [];
  const idle: Worker[] = [];
  const busy = new Map<Worker, Job<Request, Reply>>();
  let closed = false;

  function startWorker(): Worker {
    const worker = new Worker(program, workerOptions);
    worker.on('message', (reply: Reply) => {
      const job = busy.get(worker);
      busy.delete(worker);
      idle.push(worker);
      job?.resolve(reply);
      startNext();
    });
    worker.on('error', (error) => discard(worker, error));
    worker.on('exit', (code) => discard(worker, new Error(`the thread exited with ${code}`)));
    return worker;
  }

  function discard(worker: Worker, cause: unknown): void {
    const job = busy.get(worker);
    busy.delete(worker);
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    job?.reject(new ThreadPoolError('the thread of the request died', { cause }));
    startNext();
  }

  function startNext(): void {
    if (closed) return;
    while (busy.size < count) {
      const job = waiting.shift();
      if (job === undefined) return;
      start(job);
    }
  }

  /**
   * Hands a job to a thread. A request that cannot be sent to the thread fails only its own job.
   */
  function start(job: Job<Request, Reply>): void {
    let worker = idle.pop();
    try {
      worker ??= startWorker();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have none
      worker.postMessage(job.request);
      busy.set(worker, job);
    } catch (cause) {
      if (worker !== undefined) idle.push(worker);
      job.reject(new ThreadPoolError('no thread could take the request', { cause }));
    }
  }

  return {
    run(request) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(new ThreadPoolError('the thread pool is closed'));
        waiting.push({ request, resolve, reject });
        startNext();
      });
    },

    async close() {
      closed = true;
      for (const job of waiting.splice(0)) {
        job.reject(new ThreadPoolError('the thread pool is closed'));
      }
      await Promise.all([...idle, ...busy.keys()].map((worker) => worker.terminate()));
    },
  };
}
