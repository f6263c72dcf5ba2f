import { forbidPassword } from '../accounts/forbid-password.ts';
import {
  Registered,
  RegisterRequest,
  Validated,
  ValidateEmailRequest,
} from '../accounts/schema.ts';
import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { routeFor } from '../http/routing/route.ts';
import type { Registration } from './registration.ts';
import { steadily } from './steady-answer.ts';

const tag = 'Accounts';
const route = routeFor<{ readonly registration: Registration }>();

export const registrationRoutes = [
  route({
    method: 'post',
    path: '/v1/auth/register',
    operation: 'register',
    aliases: ['/api/v1/auth/register'],
    tag,
    summary: 'Registers an e-mail address with a salt and an SRP verifier',
    access: 'public',
    addressLimit: 'register-address',
    guardBody: forbidPassword,
    body: RegisterRequest,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: Registered,
    errors: ['password_forbidden', 'rate_limited', 'signer_unavailable', 'audit_backlog_full'],
    audit: {
      actions: ['account.registered'],
      note: 'by a worker right after the response, unless the e-mail address has an active account',
    },
    handler: async ({ registration }, { request, body }) => {
      await registration.signUp(request, body);
      return {
        status: 'PENDING_VALIDATION' as const,
        message: 'If the address is new, a message with a token is on its way to it.',
      };
    },
  }),
  route({
    method: 'post',
    path: '/v1/auth/validate-email',
    operation: 'validateEmail',
    aliases: ['/api/v1/auth/validate-email'],
    tag,
    summary: 'Activates the account whose registration the token belongs to',
    access: 'public',
    addressLimit: 'validate-address',
    body: ValidateEmailRequest,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: Validated,
    errors: ['rate_limited', 'signer_unavailable', 'audit_backlog_full'],
    audit: { actions: ['account.activated'] },
    handler: async ({ registration }, { request, body }) => {
      await steadily(() => registration.validateEmail(request, body.token));
      return {
        status: 'OK' as const,
        message: 'If the token was valid, the account can now be used.',
      };
    },
  }),
];
