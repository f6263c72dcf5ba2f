import { randomUUID } from 'node:crypto';
import { until } from '../../app/dev/processes/until.ts';
import type { TokenSubject } from '../../app/tokens/access-token.ts';
import { inventAccount, register } from '../support/accounts/test-account.ts';
import { validationMails } from '../support/accounts/mails.ts';
import { send, type JsonAnswer, type SendOptions } from '../support/http/send.ts';
import type { Vault } from '../support/vault/vault.ts';

/** A job as the API shows it. */
export interface ShownJob {
  readonly jobId: string;
  readonly status: string;
  readonly submittedAt: string;
  readonly completedAt: string | null;
  readonly failedAt: string | null;
  readonly result: unknown;
  readonly error: string | null;
  readonly retryable: boolean | null;
  readonly retryCount: number;
  readonly originalJobId: string | null;
}

/** A user who submits jobs. */
export interface Submitter {
  readonly caller: TokenSubject;
  send(method: string, path: string, options?: SendOptions): Promise<JsonAnswer>;
  /** Submits a job and returns its id. Throws unless it is accepted. */
  submit(type: string, payload: object): Promise<string>;
  get(jobId: string): Promise<ShownJob>;
  /** Resolves with the job once it is over. */
  untilOver(jobId: string): Promise<ShownJob>;
}

/** Creates a user with the scope for jobs; an operator of the tenant unless `as` says otherwise. */
export async function createSubmitter(
  vault: Vault,
  as: Partial<TokenSubject> = {},
): Promise<Submitter> {
  const caller: TokenSubject = {
    userId: randomUUID(),
    tenantId: 'default',
    plan: 'standard',
    roles: ['user', 'operator'],
    scopes: ['jobs:submit'],
    sessionId: randomUUID(),
    ...as,
  };
  const token = await vault.tokens.access(caller);
  const request = (method: string, path: string, options: SendOptions = {}) =>
    send(method, `${vault.baseUrl}${path}`, { token, ...options });
  const get = async (jobId: string) => (await request('GET', `/v1/jobs/${jobId}`)).body as ShownJob;
  return {
    caller,
    send: request,
    get,
    async submit(type, payload) {
      const { status, body, text } = await request('POST', '/v1/jobs', { json: { type, payload } });
      if (status !== 202) throw new Error(`the job was refused: ${status} ${text}`);
      return (body as { jobId: string }).jobId;
    },
    untilOver: (jobId) =>
      until(
        async () => {
          const job = await get(jobId);
          return job.completedAt !== null || job.failedAt !== null ? job : undefined;
        },
        { what: 'the job to be over', timeoutMs: 60_000 },
      ),
  };
}

/** Registers an account that waits for its validation, and resolves once its mail is sent. */
export async function createPending(vault: Vault) {
  const account = inventAccount();
  await register(vault, account);
  const [mail] = await validationMails(vault, account.email, 1);
  return { ...account, token: mail?.token ?? '', fingerprint: mail?.fingerprint ?? '' };
}
