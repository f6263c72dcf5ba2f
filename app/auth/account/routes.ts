import { z } from 'zod';
import { Uuid } from '../../http/bodies/wire.ts';
import { routeFor } from '../../http/routing/route.ts';

const AccountView = z
  .strictObject({
    userId: Uuid.describe('Id of the caller, by which entries and documents name their owner.'),
    tenantId: z.string().describe('The tenant of the caller.'),
    issuer: z.string().describe('The vault, as entries name it: its public URL.'),
  })
  .meta({ id: 'Account' });

const route = routeFor<{ readonly issuer: string }>();

export const accountRoutes = [
  route({
    method: 'get',
    path: '/v1/auth/account',
    operation: 'getAccount',
    aliases: ['/api/v1/auth/account'],
    tag: 'Accounts',
    summary: 'Returns the names by which entries and statements name the caller and the vault',
    access: { roles: ['user'] },
    status: 200,
    response: AccountView,
    errors: [],
    handler: ({ issuer }, { request: { caller } }) =>
      Promise.resolve({ userId: caller.userId, tenantId: caller.tenantId, issuer }),
  }),
];
