import { z } from 'zod';
import { parseDeviceId, requireDeviceId } from '../../devices/guard.ts';
import { AppError } from '../../errors/app-error.ts';
import { EventStream } from '../../http/responses/event-stream.ts';
import type { Contribution } from '../../http/routing/contribution.ts';
import { routeFor } from '../../http/routing/route.ts';
import { Cursor } from '../objects/cursor.ts';
import { pageSize } from './changes.ts';
import type { ChangeFeeds } from './feeds.ts';

/** Bytes of the longest event. */
const eventBytes = 2 ** 9;

const FeedQuery = z.strictObject({
  since: Cursor.optional().describe(
    'The `nextCursor` of a list, or the id of an event. Default: the newest change.',
  ),
});

const takesLastEventId: Contribution = {
  requestHeaders: {
    'Last-Event-ID': z
      .string()
      .optional()
      .describe('The id of the last event that the client read; goes before `since`.'),
  },
};

const route = routeFor<{ readonly changeFeeds: ChangeFeeds }>();

const events = route({
  method: 'get',
  path: '/v1/sync/events',
  operation: 'streamChanges',
  tag: 'Synchronisation',
  summary: 'Streams changes as they are committed, as server-sent events',
  access: { scopes: ['sync:read'] },
  query: FeedQuery,
  status: 200,
  response: EventStream,
  maxAnswerBytes: pageSize * eventBytes,
  errors: ['too_many_feeds', 'shutting_down'],
  contributions: [takesLastEventId],
  handler: async ({ changeFeeds }, { request, query, http }): Promise<EventStream> => {
    const deviceId = parseDeviceId(http.headers['x-device-id']);
    // Last-Event-ID takes precedence over the query, since an EventSource that reconnects requests
    // its original URL again.
    const since = parseLastEventId(http.headers['last-event-id']) ?? query.since;
    return { open: (listener) => changeFeeds.open(request, { deviceId, since }, listener) };
  },
});

export const feedRoutes = [requireDeviceId(events)];

function parseLastEventId(header: string | string[] | undefined): Cursor | undefined {
  if (header === undefined) return undefined;
  const parsed = Cursor.safeParse(header);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map(({ message }) => ({ path: 'Last-Event-ID', message }));
  throw new AppError('validation_failed', { details });
}
