import { reachOf } from '../../accounts/reach.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { AppError } from '../../errors/app-error.ts';
import type { TokenRenewal } from '../../registration/token-renewal.ts';
import { jobType } from './job-type.ts';
import { EmailValidation, EmailValidationResult } from './schemas.ts';

interface EmailValidationOptions {
  readonly accounts: Pick<Accounts, 'findEmail'>;
  readonly renewal: TokenRenewal;
}

/**
 * Creates the type of jobs that send the e-mail of a registration again, with a new token. Users
 * may name their own e-mail address, operators any. Neither the result nor its time tells whether
 * the e-mail address has a registration.
 */
export function createEmailValidation({ accounts, renewal }: EmailValidationOptions) {
  return jobType({
    name: 'EMAIL_VALIDATION',
    payload: EmailValidation,
    result: EmailValidationResult,
    concurrency: 10,
    timeLimitSeconds: 30,
    maxAttempts: 8,
    erasesPayload: true,

    async prepare(request, { email }) {
      const { caller, clientAddress } = request;
      const reach = reachOf(caller, 'operation');
      if (reach === undefined && (await accounts.findEmail(caller)) !== email) {
        throw new AppError('access_denied');
      }
      const tenantId = reach === 'all tenants' ? null : caller.tenantId;
      return { email, tenantId, isMailed: await renewal.admit(clientAddress, email) };
    },

    run: async ({ owner, requestId, payload }) => ({
      result: { processed: true as const },
      // The statements are the same for every e-mail address up to here: the time that the job
      // shows is that of the transaction's start.
      effects: (tx) => renewal.renew(tx, { ...payload, by: owner.userId, requestId }),
    }),
  });
}
