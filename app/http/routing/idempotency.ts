import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalText } from '../../json/canonical-text.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller, InternalCaller } from '../requests/caller.ts';
import type { Idempotency, Reply, RequestInfo } from '../requests/request.ts';
import { fromKept, toKept } from './kept-body.ts';

/** A response that is kept for replay. `body` is a text of `toKept`. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * The right to perform a request under an Idempotency-Key, held by one request at a time across all
 * replicas.
 */
export interface KeyClaim {
  /** Stores the response. Throws idempotency_in_progress if the claim was lost. */
  keep(tx: Tx, answer: KeptAnswer): Promise<void>;
  /**
   * Releases the key, so that it can be claimed again at once. Does nothing if a response is kept.
   * Never rejects.
   */
  release(): Promise<void>;
}

export interface IdempotencyKeys {
  /**
   * Claims a key of an owner for one request, or resolves with the response kept under it. Throws
   * idempotency_key_reused if the key was used for another request, and idempotency_in_progress
   * while the same request is being processed.
   */
  claim(owner: Owner, key: string, requestHash: string): Promise<KeyClaim | KeptAnswer>;
}

/** The header that marks a replayed response. */
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
  /** The main path. A request to an alias counts as a request to the main path. */
  readonly path: string;
  readonly status: number;
  readonly response: z.ZodType | undefined;
}

/**
 * Performs a request. If the caller sent the same request under the same Idempotency-Key within 24
 * hours and that request succeeded, returns the kept response instead. A request that failed may be
 * sent again under its key.
 */
export async function answerOnce(
  raw: KeyedRequest,
  route: KeyedRoute,
  perform: (idempotency?: Idempotency) => Promise<unknown>,
): Promise<unknown> {
  const { caller, reply } = raw;
  const key = parseKey(raw.request.headers['idempotency-key']);
  if (key === undefined || caller === undefined || !('userId' in caller)) return perform();
  const claim = await raw.idempotencyKeys.claim(caller, key, hashRequest(raw, route));
  if (!('keep' in claim)) {
    reply.status(claim.status);
    reply.set(replayedHeader, 'true');
    return fromKept(claim.body, raw.body);
  }
  let isKept = false;
  try {
    const answer = await perform({
      async keep(tx, answer) {
        const body = toKept(route.response?.parse(answer) ?? null, raw.body);
        await claim.keep(tx, { status: route.status, body });
        isKept = true;
      },
    });
    if (!isKept)
      throw new TypeError(`${route.path} is idempotent, but its handler kept no response`);
    return answer;
  } catch (error) {
    await claim.release();
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

/**
 * Hashes a request. Bodies with equal JSON values have equal hashes, whatever their whitespace and
 * member order.
 */
function hashRequest({ params, query, body }: KeyedRequest, { method, path }: KeyedRoute): string {
  const text = canonicalText([method, path, params, query, body ?? null]);
  return createHash('sha256').update(text).digest('hex');
}
