import { forbidPassword } from '../../accounts/forbid-password.ts';
import { route, type Route } from '../../http/routing/route.ts';
import type { Credentials } from './credentials.ts';
import { CredentialsChange } from './schema.ts';

interface CredentialsRoutesOptions {
  readonly credentials: Credentials;
}

export function createCredentialsRoutes({ credentials }: CredentialsRoutesOptions): Route[] {
  return [
    route({
      method: 'put',
      path: '/v1/auth/credentials',
      aliases: ['/api/v1/auth/credentials'],
      tag: 'Authentication',
      summary: 'A new password, and with it a new master key or the same one; ends other sessions',
      access: { roles: ['user'], reauth: true, orRecovery: true },
      guardBody: forbidPassword,
      body: CredentialsChange,
      status: 204,
      response: undefined,
      noStore: true,
      errors: [
        'password_forbidden',
        'invalid_key_length',
        'rekey_incomplete',
        'precondition_failed',
        'audit_backlog_full',
      ],
      handler: ({ caller, body, request }) => credentials.change(caller, body, request.serverId),
    }),
  ];
}
