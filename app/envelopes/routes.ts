import type { z } from 'zod';
import type { ReauthTokens } from '../tokens/reauth-token.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import type { Caller } from '../http/requests/caller.ts';
import { parseIfMatch, withETag } from '../http/answers/precondition.ts';
import type { RequestInfo } from '../http/requests/request.ts';
import { route, type Route } from '../http/routing/route.ts';
import { EnvelopeView, MasterKeyForm, RecoveryKeyForm, StoredEnvelope } from './schema.ts';
import type { Envelopes } from './envelopes.ts';

const tag = 'Key envelopes';
const access = { scopes: ['keys:manage'], orDeveloper: true } as const;
const masterPath = '/v1/crypto/keys/master-envelope';
const recoveryPath = '/v1/crypto/keys/recovery-envelope';

const keyErrors = [
  'invalid_key_length',
  'raw_keys_refused',
  'audit_backlog_full',
] as const satisfies readonly ErrorCode[];
const createErrors = [...keyErrors, 'envelope_exists'] as const;
const reauthErrors = ['reauth_required', 'reauth_expired', 'reauth_invalid'] as const;
const replaceErrors = [
  ...keyErrors,
  'not_found',
  'invalid_request',
  'precondition_required',
  'precondition_failed',
] as const satisfies readonly ErrorCode[];

interface RecoveryInput {
  readonly caller: Caller;
  readonly body: z.output<typeof RecoveryKeyForm>;
  readonly request: RequestInfo;
}

interface EnvelopeRoutesOptions {
  readonly envelopes: Envelopes;
  readonly reauthTokens: ReauthTokens;
}

export function createEnvelopeRoutes(options: EnvelopeRoutesOptions): Route[] {
  const { envelopes, reauthTokens } = options;

  /** A token alone, which may be stolen, sets no way to log in. Throws as ReauthTokens does. */
  async function assertProven({ caller, body, request }: RecoveryInput): Promise<void> {
    if (body.credential === undefined) return;
    await reauthTokens.verify(request.headers['x-reauth-token']?.toString(), caller);
  }

  /** False without an X-Reauth-Token. Throws as ReauthTokens does. */
  async function isProven(input: RecoveryInput): Promise<boolean> {
    if (input.request.headers['x-reauth-token'] === undefined) return false;
    await assertProven(input);
    return true;
  }

  return [
    route({
      method: 'post',
      path: masterPath,
      tag,
      summary: 'Stores the master key, best wrapped by the client',
      access,
      body: MasterKeyForm,
      status: 201,
      response: StoredEnvelope,
      hasETag: true,
      noStore: true,
      errors: createErrors,
      handler: ({ caller, body, request, reply }) => {
        const change = { kind: 'MASTER', form: body } as const;
        return withETag(reply, envelopes.create(caller, change, request.serverId));
      },
    }),
    route({
      method: 'get',
      path: masterPath,
      tag,
      summary: 'The wrapped master key',
      access,
      status: 200,
      response: EnvelopeView,
      hasETag: true,
      noStore: true,
      errors: ['not_found'],
      handler: ({ caller, reply }) => withETag(reply, envelopes.get(caller, 'MASTER')),
    }),
    route({
      method: 'put',
      path: masterPath,
      tag,
      summary: 'Wraps the same master key anew; If-Match',
      access,
      body: MasterKeyForm,
      status: 200,
      response: StoredEnvelope,
      hasETag: true,
      noStore: true,
      errors: replaceErrors,
      handler: async ({ caller, body, request, reply }) => {
        const ifMatch = parseIfMatch(request.headers['if-match']);
        const change = { kind: 'MASTER', form: body } as const;
        return withETag(reply, envelopes.replace(caller, change, ifMatch, request.serverId));
      },
    }),
    route({
      method: 'post',
      path: recoveryPath,
      tag,
      summary:
        'Stores the master key under the recovery words; X-Reauth-Token, or a fresh login, where they are to log in with',
      access,
      body: RecoveryKeyForm,
      status: 201,
      response: StoredEnvelope,
      hasETag: true,
      noStore: true,
      errors: [...createErrors, ...reauthErrors],
      handler: async (input) => {
        const { caller, body, request, reply } = input;
        const change = { kind: 'RECOVERY', ...body, isProven: await isProven(input) } as const;
        return withETag(reply, envelopes.create(caller, change, request.serverId));
      },
    }),
    route({
      method: 'get',
      path: recoveryPath,
      tag,
      summary: 'The master key wrapped under the recovery words, and the keyring beside it',
      access: { ...access, orRecovery: true },
      status: 200,
      response: EnvelopeView,
      hasETag: true,
      noStore: true,
      errors: ['not_found'],
      handler: ({ caller, reply }) => withETag(reply, envelopes.get(caller, 'RECOVERY')),
    }),
    route({
      method: 'put',
      path: recoveryPath,
      tag,
      summary: 'Other recovery words; If-Match, and X-Reauth-Token where they are to log in with',
      access,
      body: RecoveryKeyForm,
      status: 200,
      response: StoredEnvelope,
      hasETag: true,
      noStore: true,
      errors: [...replaceErrors, ...reauthErrors],
      handler: async (input) => {
        const { caller, body, request, reply } = input;
        const ifMatch = parseIfMatch(request.headers['if-match']);
        await assertProven(input);
        const change = { kind: 'RECOVERY', ...body } as const;
        return withETag(reply, envelopes.replace(caller, change, ifMatch, request.serverId));
      },
    }),
  ];
}
