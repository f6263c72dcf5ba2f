import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import type { SyncDevice } from '../../support/sync/devices.ts';

/** An open feed, read from the wire. */
export interface FeedReader {
  readonly status: number;
  readonly headers: Headers;
  /** Error body of a refusal; empty for an open feed. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly events: readonly EventSourceMessage[];
  readonly comments: readonly string[];
  /** Returns the `change` events received so far. */
  changes(): FeedChange[];
  /** Reason in the `close` event; undefined if the connection broke without one. */
  readonly closed: Promise<string | undefined>;
  /** Hangs up. */
  leave(): void;
}

export interface FeedChange {
  readonly cursor: number;
  readonly objectId: string;
  readonly version: number;
  readonly deleted: boolean;
  readonly deviceId: string;
}

/** The parts of a device that a feed needs. */
interface Listening {
  readonly api: Pick<SyncDevice['api'], 'token'>;
  readonly deviceId: string;
}

interface FeedOptions {
  readonly since?: number | string;
  readonly lastEventId?: number | string;
}

/** Opens a feed; the test's end closes the connection. */
export async function openFeed(
  t: Pick<ExecutionContext, 'teardown'>,
  { baseUrl }: { readonly baseUrl: string },
  device: Listening,
  options: FeedOptions = {},
): Promise<FeedReader> {
  const hangUp = new AbortController();
  t.teardown(() => hangUp.abort());
  const { since, lastEventId } = options;
  const query = since === undefined ? '' : `?since=${since}`;
  const response = await fetch(`${baseUrl}/v1/sync/events${query}`, {
    headers: {
      authorization: `Bearer ${device.api.token}`,
      'x-device-id': device.deviceId,
      ...(lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }),
    },
    signal: hangUp.signal,
  });
  const { status, headers } = response;
  const events: EventSourceMessage[] = [];
  const comments: string[] = [];
  const body = response.ok ? {} : ((await response.json()) as FeedReader['body']);
  const changes = () =>
    events.filter(({ event }) => event === 'change').map(({ id, data }) => toChange(id, data));
  const closed = response.ok ? readAll(response, events, comments) : Promise.resolve(undefined);
  return { status, headers, body, events, comments, changes, closed, leave: () => hangUp.abort() };
}

async function readAll(response: Response, events: EventSourceMessage[], comments: string[]) {
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onComment: (comment) => void comments.push(comment),
  });
  const decoder = new TextDecoder();
  try {
    for await (const bytes of response.body ?? []) {
      parser.feed(decoder.decode(bytes, { stream: true }));
    }
  } catch {
    return undefined;
  }
  const last = events.at(-1);
  if (last?.event !== 'close') return undefined;
  return String((JSON.parse(last.data) as { reason: unknown }).reason);
}

function toChange(id: string | undefined, data: string): FeedChange {
  return { cursor: Number(id), ...(JSON.parse(data) as Omit<FeedChange, 'cursor'>) };
}

export async function untilReady({ events }: FeedReader): Promise<number> {
  const ready = await until(() => events[0], { what: 'the feed to be ready', timeoutMs: 60_000 });
  return Number(ready.id);
}

export async function untilChanges(feed: FeedReader, count: number): Promise<FeedChange[]> {
  await until(() => feed.changes().length >= count, {
    what: `${count} changes`,
    timeoutMs: 60_000,
  });
  return feed.changes();
}
