import type { JobState } from '../../db/tables/workers.ts';
import type { Listener } from '../../http/responses/event-stream.ts';
import type { AccessEnd } from '../../sessions/streams/stream-guard.ts';

/** The status of a job as a stream tells it. */
export interface ToldStatus {
  readonly jobId: string;
  readonly status: JobState;
  /** A code that says why the job failed. */
  readonly error: string | null;
}

/** The reason for which a stream ends: the job is over or gone, or an error code. */
export type StreamEnd = AccessEnd | 'job_over' | 'not_found' | 'shutting_down';

/** The event stream of one listener to one job. */
export interface JobStream {
  readonly jobId: string;
  /** The texts of the events. Iterate only once. */
  readonly events: AsyncIterable<string>;
  /** Sends the status if it has changed, and ends the stream if the job is over. */
  tell(told: ToldStatus): void;
  /**
   * Ends the stream with an event that states the reason, and cuts the connection if it is still
   * open after 1 s. A second call has no effect.
   */
  end(reason: StreamEnd): void;
}

/** Milliseconds after which a client reconnects, unless the client has a delay of its own. */
const retryMs = 2_000;
/** Milliseconds without an event after which a comment is sent, so that proxies stay connected. */
const heartbeatMs = 20_000;
const heartbeat = ':\n\n';
const lastWordsMs = 1_000;

/** Creates the stream of a job's status, which begins with the status `first`. */
export function createJobStream(first: ToldStatus, listener: Listener): JobStream {
  const { gone } = listener;
  let last = first;
  let isTold = false;
  let reason: StreamEnd | undefined;
  let resume: () => void = () => undefined;
  gone.addEventListener('abort', () => resume(), { once: true });

  /** Waits until there is something to send or the next heartbeat is due. */
  async function rest(): Promise<void> {
    const woken = Promise.withResolvers<void>();
    const timer = setTimeout(woken.resolve, heartbeatMs);
    resume = woken.resolve;
    await woken.promise;
    clearTimeout(timer);
  }

  function end(because: StreamEnd): void {
    if (reason !== undefined || gone.aborted) return;
    reason = because;
    resume();
    const timer = setTimeout(() => listener.cut(), lastWordsMs);
    gone.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  function tell(told: ToldStatus): void {
    if (told.status !== last.status) {
      last = told;
      isTold = false;
      resume();
    }
    if (told.status !== 'PENDING' && told.status !== 'ACTIVE') end('job_over');
  }

  async function* listen(): AsyncGenerator<string, void, void> {
    yield `retry: ${retryMs}\n`;
    for (;;) {
      if (!isTold) {
        isTold = true;
        yield `event: status\ndata: ${JSON.stringify(last)}\n\n`;
      } else if (reason !== undefined || gone.aborted) {
        break;
      } else {
        await rest();
        if (isTold && reason === undefined && !gone.aborted) yield heartbeat;
      }
    }
    if (reason !== undefined) yield `event: close\ndata: ${JSON.stringify({ reason })}\n\n`;
  }

  tell(first);
  return { jobId: first.jobId, events: listen(), tell, end };
}
