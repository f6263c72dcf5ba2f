import { route, type Route } from '../../http/routing/route.ts';
import type { Closure } from './closure.ts';

export function createClosureRoutes({ closure }: { readonly closure: Closure }): Route[] {
  return [
    route({
      method: 'delete',
      path: '/v1/auth/account',
      aliases: ['/api/v1/auth/account'],
      tag: 'Accounts',
      summary: 'Closes the account: all but its sealed documents and their proofs goes',
      access: { roles: ['user'], reauth: true },
      status: 204,
      response: undefined,
      errors: ['audit_backlog_full'],
      handler: ({ caller, request }) => closure.close(caller, request.serverId),
    }),
  ];
}
