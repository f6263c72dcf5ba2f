import type { JobState } from '../../db/tables/workers.ts';
import type { Listener } from '../../http/responses/event-stream.ts';
import type { AccessEnd } from '../../sessions/streams/stream-guard.ts';
import {
  closeEvent,
  createStreamLife,
  heartbeat,
  retryMs,
} from '../../sessions/streams/stream-life.ts';

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

/** Creates the stream of a job's status, which begins with the status `first`. */
export function createJobStream(first: ToldStatus, listener: Listener): JobStream {
  const life = createStreamLife<StreamEnd>(listener);
  let last = first;
  let isTold = false;

  function tell(told: ToldStatus): void {
    if (told.status !== last.status) {
      last = told;
      isTold = false;
      life.wake();
    }
    if (told.status !== 'PENDING' && told.status !== 'ACTIVE') life.end('job_over');
  }

  async function* listen(): AsyncGenerator<string, void, void> {
    yield `retry: ${retryMs}\n`;
    for (;;) {
      if (!isTold) {
        isTold = true;
        yield `event: status\ndata: ${JSON.stringify(last)}\n\n`;
      } else if (life.isOver()) {
        break;
      } else {
        await life.rest();
        if (isTold && !life.isOver()) yield heartbeat;
      }
    }
    const reason = life.reason();
    if (reason !== undefined) yield closeEvent(reason);
  }

  tell(first);
  return { jobId: first.jobId, events: listen(), tell, end: life.end };
}
