import { routeFor } from '../http/routing/route.ts';
import { UsageView } from './schema.ts';
import type { Usage } from './usage.ts';

const route = routeFor<{ readonly usage: Usage }>();

export const usageRoutes = [
  route({
    method: 'get',
    path: '/v1/usage',
    operation: 'getUsage',
    tag: 'Accounts',
    summary: 'Returns what the caller keeps, and the limits of the caller’s plan',
    access: { roles: ['user'] },
    status: 200,
    response: UsageView,
    errors: [],
    handler: ({ usage }, { request }) => usage.get(request),
  }),
];
