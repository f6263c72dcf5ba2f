import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalText } from '../../json/canonical-text.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller, InternalCaller } from '../requests/caller.ts';
import type { Reply, RequestInfo } from '../requests/request.ts';

/** What a handler does about the Idempotency-Key of its request; undefined without one. */
export interface Idempotency<Answer> {
  /**
   * Keeps the answer in the transaction of the action that it tells of, for whoever sends the request
   * again: both happen or neither. Throws idempotency_in_progress if another request has the key by now.
   */
  keep(tx: Tx, answer: Answer): Promise<void>;
}

/** `body` is JSON text. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: string;
}

/** The right to act under a key, held by one request at a time across all replicas. */
export interface KeyClaim {
  /** Throws idempotency_in_progress when the claim was lost. */
  keep(tx: Tx, answer: KeptAnswer): Promise<void>;
  /** Gives the key up, so that it can be used again at once; a kept answer stays. */
  release(): Promise<void>;
}

export interface IdempotencyKeys {
  /**
   * Claims a key of the owner's for one request, or answers what was kept under it.
   * Throws idempotency_key_reused for another request, idempotency_in_progress during this one.
   */
  claim(owner: Owner, key: string, requestHash: string): Promise<KeyClaim | KeptAnswer>;
}

/** In answers and documentation. */
export const replayedHeader = 'Idempotency-Replayed';

export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters');

interface KeyedRequest {
  readonly caller: Caller | InternalCaller | undefined;
  readonly params: Record<string, string>;
  readonly query: Record<string, unknown>;
  readonly body: unknown;
  readonly request: RequestInfo;
  readonly reply: Reply;
  readonly idempotencyKeys: IdempotencyKeys;
}

interface KeyedRoute {
  readonly method: string;
  /** Without aliases: they are the same request. */
  readonly path: string;
  readonly status: number;
  readonly response: z.ZodType | undefined;
}

/**
 * Acts, unless the caller has sent the same request under the same key within 24 hours and it
 * succeeded: then its answer is given again. A request that fails may be sent again.
 */
export async function answerOnce<Answer>(
  raw: KeyedRequest,
  route: KeyedRoute,
  act: (idempotency?: Idempotency<Answer>) => Promise<unknown>,
): Promise<unknown> {
  const { caller, reply } = raw;
  const key = parseKey(raw.request.headers['idempotency-key']);
  if (key === undefined || caller === undefined || !('userId' in caller)) return act();
  const claim = await raw.idempotencyKeys.claim(caller, key, hashRequest(raw, route));
  if (!('keep' in claim)) {
    reply.status(claim.status);
    reply.set(replayedHeader, 'true');
    return JSON.parse(claim.body);
  }
  let isKept = false;
  try {
    const answer = await act({
      async keep(tx, answer) {
        const body = JSON.stringify(route.response?.parse(answer) ?? null);
        await claim.keep(tx, { status: route.status, body });
        isKept = true;
      },
    });
    if (!isKept) throw new TypeError(`${route.path} is idempotent and keeps no answer`);
    return answer;
  } catch (error) {
    // The lease ends by itself.
    await claim.release().catch(() => undefined);
    throw error;
  }
}

function parseKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const parsed = IdempotencyKey.safeParse(header);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map(({ message }) => ({ path: 'Idempotency-Key', message }));
  throw new AppError('validation_failed', { details });
}

/** Two bodies are one if they are the same JSON, however written. */
function hashRequest({ params, query, body }: KeyedRequest, { method, path }: KeyedRoute): string {
  const text = canonicalText([method, path, params, query, body ?? null]);
  return createHash('sha256').update(text).digest('hex');
}
