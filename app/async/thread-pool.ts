import { Worker, type WorkerOptions } from 'node:worker_threads';

/** The pool is closed, no thread took the request, or the one that worked on it died. */
export class ThreadPoolError extends Error {}

/** Threads of one program, which answers each message with one of its own. */
interface ThreadPool<Request, Reply> {
  /** Waits while all threads are busy. Throws ThreadPoolError. */
  run(request: Request): Promise<Reply>;
  /** Ends the threads; what still runs or waits throws. */
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

/** Starts threads as they are needed, at most `count`. */
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
    job?.reject(new ThreadPoolError('a thread died', { cause }));
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

  /** What cannot be sent, or no thread be started for, costs its own job alone. */
  function start(job: Job<Request, Reply>): void {
    let worker = idle.pop();
    try {
      worker ??= startWorker();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage(job.request);
      busy.set(worker, job);
    } catch (cause) {
      if (worker !== undefined) idle.push(worker);
      job.reject(new ThreadPoolError('no thread took the request', { cause }));
    }
  }

  return {
    run(request) {
      return new Promise((resolve, reject) => {
        if (closed) return reject(new ThreadPoolError('the threads are closed'));
        waiting.push({ request, resolve, reject });
        startNext();
      });
    },

    async close() {
      closed = true;
      for (const job of waiting.splice(0))
        job.reject(new ThreadPoolError('the threads are closed'));
      await Promise.all([...idle, ...busy.keys()].map((worker) => worker.terminate()));
    },
  };
}
