import type { Listener } from '../../http/responses/event-stream.ts';

/** Milliseconds after which a client reconnects, unless the client has a delay of its own. */
export const retryMs = 2_000;
/** A comment line that keeps proxies and clients from closing an idle stream. */
export const heartbeat = ':\n\n';
/** Milliseconds without an event after which a comment is sent. */
const usualHeartbeatMs = 20_000;
const lastWordsMs = 1_000;

/** The waits and the end of the event stream of one listener. */
export interface StreamLife<Reason extends string> {
  /** Returns why the stream was ended; undefined until then. */
  reason(): Reason | undefined;
  /** Returns whether the stream was ended or the client has disconnected. */
  isOver(): boolean;
  /** Waits until `wake` or `end` is called, or the next heartbeat is due. */
  rest(): Promise<void>;
  wake(): void;
  /**
   * Ends the stream, and cuts the connection if it is still open after 1 s. A second call has no
   * effect.
   */
  end(reason: Reason): void;
}

export function createStreamLife<Reason extends string>(
  listener: Listener,
  heartbeatMs = usualHeartbeatMs,
): StreamLife<Reason> {
  const { gone } = listener;
  let reason: Reason | undefined;
  let wake: () => void = () => undefined;
  gone.addEventListener('abort', () => wake(), { once: true });

  const isOver = () => reason !== undefined || gone.aborted;

  return {
    reason: () => reason,
    isOver,
    wake: () => wake(),

    async rest() {
      const woken = Promise.withResolvers<void>();
      const timer = setTimeout(woken.resolve, heartbeatMs);
      wake = woken.resolve;
      await woken.promise;
      clearTimeout(timer);
    },

    end(because) {
      if (isOver()) return;
      reason = because;
      wake();
      const timer = setTimeout(() => listener.cut(), lastWordsMs);
      gone.addEventListener('abort', () => clearTimeout(timer), { once: true });
    },
  };
}

/**
 * Returns the last event of a stream. The event has no id, so that the client's cursor stays the
 * same.
 */
export function closeEvent(reason: string): string {
  return `event: close\ndata: ${JSON.stringify({ reason })}\n\n`;
}
