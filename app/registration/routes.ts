import { originOf } from '../http/requests/request.ts';
import { route, type Route } from '../http/routing/route.ts';
import { forbidPassword } from '../accounts/forbid-password.ts';
import {
  Registered,
  RegisterRequest,
  Validated,
  ValidateEmailRequest,
} from '../accounts/schema.ts';
import type { Registration } from './registration.ts';
import { steadily } from './steady-answer.ts';

const tag = 'Accounts';

interface AccountRoutesOptions {
  readonly registration: Registration;
}

export function createAccountRoutes({ registration }: AccountRoutesOptions): Route[] {
  return [
    route({
      method: 'post',
      path: '/v1/auth/register',
      aliases: ['/api/v1/auth/register'],
      tag,
      summary: 'Registers an address with a salt and an SRP verifier',
      access: 'public',
      guardBody: forbidPassword,
      body: RegisterRequest,
      status: 200,
      response: Registered,
      errors: ['password_forbidden', 'rate_limited', 'signer_unavailable', 'audit_backlog_full'],
      handler: async ({ body, request }) => {
        await registration.request(body, originOf(request));
        return {
          status: 'PENDING_VALIDATION' as const,
          message: 'If the address is new, a message with a token is on its way to it.',
        };
      },
    }),
    route({
      method: 'post',
      path: '/v1/auth/validate-email',
      aliases: ['/api/v1/auth/validate-email'],
      tag,
      summary: 'Activates the registration whose token this is',
      access: 'public',
      body: ValidateEmailRequest,
      status: 200,
      response: Validated,
      errors: ['rate_limited', 'audit_backlog_full'],
      handler: async ({ body, request }) => {
        await steadily(() => registration.validateEmail(body.token, originOf(request)));
        return {
          status: 'OK' as const,
          message: 'If the token was valid, the account can now be used.',
        };
      },
    }),
  ];
}
