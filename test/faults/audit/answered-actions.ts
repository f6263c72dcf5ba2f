import { decodeJwt } from 'jose';
import { z } from 'zod';
import { AuditProof } from '../../../client/proofs/proof-format.ts';

/** Actions that servers confirmed in their responses. */
export interface AnsweredActions {
  /** Each `action resource-id` of the log that a successful response promised. */
  readonly actions: Set<string>;
  /** Proofs that certifications returned. */
  readonly proofs: AuditProof[];
  /** Wraps `fetch` so that the responses are recorded. */
  watch(fetch: typeof globalThis.fetch): typeof globalThis.fetch;
}

const Answer = z.looseObject({
  id: z.string().default(''),
  sessionId: z.string().default(''),
  keyId: z.string().default(''),
  accessToken: z.string().default(''),
  proof: AuditProof.optional(),
});

interface Promised {
  /**
   * Matches method and path; its first group is the resource's id unless `idOf` finds it in the
   * response.
   */
  readonly request: RegExp;
  readonly action: string;
  readonly idOf?: (answer: z.output<typeof Answer>) => string;
}

const promised: readonly Promised[] = [
  { request: /^POST \/v1\/uploads$/, action: 'upload.created', idOf: (a) => a.sessionId },
  { request: /^POST \/v1\/uploads\/([^/]+)\/complete$/, action: 'upload.completed' },
  { request: /^POST \/v1\/documents$/, action: 'document.created', idOf: (a) => a.id },
  { request: /^POST \/v1\/documents\/([^/]+)\/certify$/, action: 'document.sealed' },
  {
    request: /^POST \/v1\/crypto\/keys\/master-envelope$/,
    action: 'envelope.created',
    idOf: (a) => a.id,
  },
  {
    request: /^POST \/v1\/auth\/login\/verify$/,
    action: 'auth.login',
    idOf: (a) => String(decodeJwt(a.accessToken)['sid']),
  },
  { request: /^POST \/v1\/internal\/keys$/, action: 'key.created', idOf: (a) => a.keyId },
  { request: /^POST \/v1\/internal\/keys\/([^/]+)\/activate$/, action: 'key.activated' },
];

export function createAnsweredActions(): AnsweredActions {
  const actions = new Set<string>();
  const proofs: AuditProof[] = [];

  /** Records a response. Rejects if its body is truncated. */
  async function note(request: string, response: Response): Promise<void> {
    for (const { request: pattern, action, idOf } of promised) {
      const match = pattern.exec(request);
      if (match === null) continue;
      const answer = Answer.parse(await response.json());
      actions.add(`${action} ${idOf?.(answer) ?? match[1]}`);
      if (answer.proof !== undefined) proofs.push(answer.proof);
    }
  }

  return {
    actions,
    proofs,
    watch: (fetch) => async (input, init) => {
      const response = await fetch(input, init);
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      const request = `${init?.method ?? 'GET'} ${pathname}`;
      if (response.ok) await note(request, response.clone());
      return response;
    },
  };
}
