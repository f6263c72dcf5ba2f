import { z } from 'zod';
import { parseDeviceId, requireDeviceId } from '../../devices/guard.ts';
import { AppError } from '../../errors/app-error.ts';
import { EventStream } from '../../http/answers/event-stream.ts';
import { route, type Route } from '../../http/routing/route.ts';
import { Cursor } from '../objects/cursor.ts';
import type { ChangeFeeds } from './feeds.ts';

const FeedQuery = z.strictObject({
  since: Cursor.optional().meta({
    description: 'The nextCursor of a list, or the id of an event; now unless given.',
  }),
});

interface FeedRoutesOptions {
  readonly changeFeeds: ChangeFeeds;
}

export function createFeedRoutes({ changeFeeds }: FeedRoutesOptions): Route[] {
  const routes = [
    route({
      method: 'get',
      path: '/v1/sync/events',
      tag: 'Synchronization',
      summary: 'Tells of changes as they are committed, as server-sent events',
      access: { scopes: ['sync:read'] },
      query: FeedQuery,
      status: 200,
      response: EventStream,
      errors: [
        'device_required',
        'device_unknown',
        'device_blacklisted',
        'too_many_feeds',
        'shutting_down',
      ],
      handler: async ({ caller, query, request }): Promise<EventStream> => {
        const deviceId = parseDeviceId(request.headers['x-device-id']);
        // An EventSource that comes again asks for the first URL.
        const since = parseLastEventId(request.headers['last-event-id']) ?? query.since;
        return { open: (listener) => changeFeeds.open({ caller, deviceId, since }, listener) };
      },
    }),
  ];
  return routes.map(requireDeviceId);
}

function parseLastEventId(header: string | string[] | undefined): Cursor | undefined {
  if (header === undefined) return undefined;
  const parsed = Cursor.safeParse(header);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map(({ message }) => ({ path: 'Last-Event-ID', message }));
  throw new AppError('validation_failed', { details });
}
