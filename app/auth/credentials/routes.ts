import { forbidPassword } from '../../accounts/forbid-password.ts';
import { metadataBodyBytes } from '../../http/bodies/json-body.ts';
import { routeFor } from '../../http/routing/route.ts';
import type { Credentials } from './credentials.ts';
import { CredentialsChange } from './schema.ts';

const route = routeFor<{ readonly credentials: Credentials }>();

export const credentialsRoutes = [
  route({
    method: 'put',
    path: '/v1/auth/credentials',
    operation: 'changeCredentials',
    aliases: ['/api/v1/auth/credentials'],
    tag: 'Login',
    summary: 'Sets a new password, and with it a new master key or the same; ends other sessions',
    access: { roles: ['user'], reauth: true, orRecovery: true },
    guardBody: forbidPassword,
    body: CredentialsChange,
    maxBodyBytes: metadataBodyBytes,
    status: 204,
    response: undefined,
    noStore: true,
    errors: [
      'password_forbidden',
      'invalid_key_length',
      'rekey_incomplete',
      'identity_unproven',
      'precondition_failed',
      'signer_unavailable',
      'audit_backlog_full',
    ],
    audit: {
      actions: [
        'credentials.changed',
        'envelope.replaced',
        'envelope.created',
        'sharing_key.changed',
      ],
      note: 'one `credentials.changed` for each login method, one entry for each envelope',
    },
    handler: ({ credentials }, { request, body }) => credentials.change(request, body),
  }),
];
