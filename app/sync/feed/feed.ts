import { setTimeout as pause } from 'node:timers/promises';
import type { Listener } from '../../http/answers/event-stream.ts';
import { isSame, type Cursor } from '../objects/cursor.ts';
import { pageSize, type FeedPage } from './changes.ts';
import { changeEvent, closeEvent, heartbeat, readyEvent, type EndReason } from './events.ts';

/** What one listener hears of the changes of its user. */
export interface Feed {
  /** Ends after `end`, or when the listener is gone. To be iterated once. */
  readonly events: AsyncIterable<string>;
  /** What was heard up to. */
  cursor(): Cursor;
  /** There may be changes after the cursor. */
  wake(): void;
  /** Tells the listener why, if it reads on; else the connection is cut a second later. */
  end(reason: EndReason): void;
}

interface FeedOptions {
  readonly cursor: Cursor;
  readonly listener: Listener;
  readonly readAfter: (cursor: Cursor) => Promise<FeedPage>;
  /** What it ends with where reading throws. */
  readonly explain: (error: unknown) => EndReason;
}

const heartbeatMs = 20_000;
/** After the last page, so that a burst of writes is told at once. */
const pauseMs = 50;
const lastWordsMs = 1_000;

export function createFeed({ cursor, listener, readAfter, explain }: FeedOptions): Feed {
  const { gone } = listener;
  let heard = cursor;
  let isBehind = true;
  let reason: EndReason | undefined;
  let resume: () => void = () => undefined;
  gone.addEventListener('abort', () => resume(), { once: true });

  const isOver = () => reason !== undefined || gone.aborted;

  /** Until it is woken or over, or a heartbeat is due. */
  async function rest(): Promise<void> {
    const woken = Promise.withResolvers<void>();
    const timer = setTimeout(woken.resolve, heartbeatMs);
    resume = woken.resolve;
    await woken.promise;
    clearTimeout(timer);
  }

  function end(because: EndReason): void {
    if (isOver()) return;
    reason = because;
    resume();
    const timer = setTimeout(() => listener.cut(), lastWordsMs);
    gone.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  async function readOn(): Promise<FeedPage> {
    isBehind = false;
    try {
      const page = await readAfter(heard);
      if (page.changes.length === pageSize) isBehind = true;
      return page;
    } catch (error) {
      end(explain(error));
      return { start: heard, changes: [] };
    }
  }

  async function* listen(): AsyncGenerator<string, void, void> {
    yield readyEvent(heard);
    while (!isOver()) {
      if (isBehind) {
        const { start, changes } = await readOn();
        // The vault was restored meanwhile.
        if (!isSame(start, heard)) {
          heard = start;
          yield readyEvent(heard);
        }
        if (changes.length === 0) continue;
        heard = changes.at(-1)?.cursor ?? heard;
        yield changes.map(changeEvent).join('');
        if (changes.length < pageSize) await pause(pauseMs);
      } else {
        await rest();
        if (!isBehind && !isOver()) yield heartbeat;
      }
    }
    if (reason !== undefined) yield closeEvent(reason);
  }

  return {
    events: listen(),
    cursor: () => heard,
    wake() {
      isBehind = true;
      resume();
    },
    end,
  };
}
