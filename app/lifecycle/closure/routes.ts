import { routeFor } from '../../http/routing/route.ts';
import type { Closure } from './closure.ts';

const route = routeFor<{ readonly closure: Closure }>();

export const closureRoutes = [
  route({
    method: 'delete',
    path: '/v1/auth/account',
    operation: 'closeAccount',
    aliases: ['/api/v1/auth/account'],
    tag: 'Accounts',
    summary: 'Closes the account; only its sealed documents and their proofs are kept',
    access: { roles: ['user'], reauth: true },
    status: 204,
    response: undefined,
    errors: ['audit_backlog_full'],
    audit: { actions: ['account.closed'] },
    handler: ({ closure }, { request }) => closure.close(request),
  }),
];
