import { setTimeout as pause } from 'node:timers/promises';
import type { Listener } from '../../http/responses/event-stream.ts';
import { isSame, type Cursor } from '../objects/cursor.ts';
import { pageSize, type FeedPage } from './changes.ts';
import { closeEvent, createStreamLife, heartbeat } from '../../sessions/streams/stream-life.ts';
import { changeEvent, readyEvent, type EndReason } from './events.ts';

/** The change feed of one listener. */
export interface Feed {
  /**
   * The texts of the events. The iteration ends after `end` was called or the client disconnected.
   * Iterate only once.
   */
  readonly events: AsyncIterable<string>;
  /** Returns the cursor of the last change that was sent. */
  cursor(): Cursor;
  /** Makes the feed read the changes after its cursor. */
  wake(): void;
  /**
   * Ends the feed with an event that states the reason, and cuts the connection if it is still open
   * after 1 s. A second call has no effect.
   */
  end(reason: EndReason): void;
}

interface FeedOptions {
  readonly cursor: Cursor;
  readonly listener: Listener;
  readonly readAfter: (cursor: Cursor) => Promise<FeedPage>;
  /** Returns the reason to end the feed with after reading the changes threw an error. */
  readonly explain: (error: unknown) => EndReason;
  /** Milliseconds without an event after which a comment is sent. */
  readonly heartbeatMs?: number;
}

/**
 * Milliseconds of pause after a page that is not full, so that a burst of writes is sent together.
 */
const pauseMs = 50;

export function createFeed({
  cursor,
  listener,
  readAfter,
  explain,
  heartbeatMs,
}: FeedOptions): Feed {
  const life = createStreamLife<EndReason>(listener, heartbeatMs);
  let heard = cursor;
  let isBehind = true;

  async function readOn(): Promise<FeedPage> {
    isBehind = false;
    try {
      const page = await readAfter(heard);
      if (page.changes.length === pageSize) isBehind = true;
      return page;
    } catch (error) {
      life.end(explain(error));
      return { start: heard, changes: [] };
    }
  }

  async function* listen(): AsyncGenerator<string, void, void> {
    yield readyEvent(heard);
    while (!life.isOver()) {
      if (isBehind) {
        const { start, changes } = await readOn();
        // The vault was restored meanwhile, which invalidated the feed's cursor: restart from the
        // beginning.
        if (!isSame(start, heard)) {
          heard = start;
          yield readyEvent(heard);
        }
        if (changes.length === 0) continue;
        heard = changes.at(-1)?.cursor ?? heard;
        yield changes.map(changeEvent).join('');
        if (changes.length < pageSize) await pause(pauseMs);
      } else {
        await life.rest();
        if (!isBehind && !life.isOver()) yield heartbeat;
      }
    }
    const reason = life.reason();
    if (reason !== undefined) yield closeEvent(reason);
  }

  return {
    events: listen(),
    cursor: () => heard,
    wake() {
      isBehind = true;
      life.wake();
    },
    end: life.end,
  };
}
