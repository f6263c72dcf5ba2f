import { routeFor } from '../http/routing/route.ts';
import type { ReadMarkStatus } from './mark-status.ts';
import { HighWaterMarks } from './schema.ts';

const route = routeFor<{ readonly markStatus: ReadMarkStatus }>();

export const markRoutes = [
  route({
    method: 'get',
    path: '/v1/internal/marks',
    operation: 'getHighWaterMarks',
    tag: 'Operation',
    summary: 'Returns the newest high-water mark, and what was sealed since',
    access: 'internal',
    status: 200,
    response: HighWaterMarks,
    noStore: true,
    errors: [],
    handler: ({ markStatus }) => markStatus(),
  }),
];
