import { createParser } from 'eventsource-parser';
import { z } from 'zod';
import type { Bytes } from '../../bytes/bytes.ts';
import { ClientError } from '../../errors/client-error.ts';
import { parseAnswer, type Http } from '../../http/http.ts';
import { retryDelaySeconds, type RetryPolicy } from '../../http/retry.ts';
import { VaultError } from '../../errors/vault-error.ts';
import { Cursor } from './cursor.ts';

/**
 * Seconds without data after which a connection counts as dead, a little more than two heartbeat
 * intervals of the vault.
 */
const quietSeconds = 45;
/** Seconds that a connection must last to reset the backoff. */
const goodSeconds = 10;
const maxEventLength = 64 * 1024;

const Change = z.object({
  objectId: z.guid(),
  version: z.int(),
  deleted: z.boolean(),
  /** Id of the device that wrote this version. */
  deviceId: z.guid().optional(),
});

/**
 * An event with its position in the sequence of the user's changes. Save the cursor to resume after
 * the event.
 */
interface Placed {
  readonly cursor: string;
}

/**
 * An event of the change feed. `ready` is sent first, after each reconnection, and when the vault
 * was restored. `change` reports the latest version of an object, without its data.
 */
export type SyncEvent =
  | (Placed & { readonly type: 'ready' })
  | (Placed & { readonly type: 'change' } & z.output<typeof Change>);

export interface SyncEventsOptions {
  /** Id of the device that the login session is bound to. */
  readonly deviceId: string;
  /**
   * Cursor to resume after: the `nextCursor` of a list or the cursor of an event. By default, only
   * changes from now on are reported.
   */
  readonly since?: string | undefined;
  /** Ends the generator without an error. */
  readonly signal?: AbortSignal | undefined;
}

interface SyncEventsDependencies {
  /** Sends requests with the session's access token. */
  readonly http: Http;
  readonly retry: RetryPolicy;
}

/**
 * Yields the user's changes in order and without gaps, for as long as the generator is iterated:
 * after a failure it reconnects, with backoff, and resumes after the last event. A `ready` event
 * with another cursor than the previous event means that the vault was restored from a backup; a
 * `change` event for each object in the vault follows.
 *
 * Throws session_ended, invalid_response, VaultError 400 or 403, and 429 too_many_feeds after as
 * many consecutive refusals as the policy has attempts. If the vault is unreachable or fails with
 * 5xx, it retries indefinitely.
 */
export async function* syncEvents(
  { http, retry }: SyncEventsDependencies,
  { deviceId, since, signal }: SyncEventsOptions,
): AsyncGenerator<SyncEvent, void, void> {
  let cursor = since;
  let failures = 0;
  let refusals = 0;
  while (!isAborted(signal)) {
    const startedAt = performance.now();
    let failure: unknown = new ClientError('network_error');
    try {
      for await (const event of connect(http, { deviceId, since: cursor, signal })) {
        cursor = event.cursor;
        yield event;
      }
    } catch (error) {
      failure = error;
    }
    if (isAborted(signal)) return;
    const isGood = performance.now() - startedAt > goodSeconds * 1000;
    failures = isGood ? 1 : failures + 1;
    refusals = isRefusal(failure) ? refusals + 1 : 0;
    const passing = isFault(failure) ? new ClientError('network_error') : failure;
    const seconds = retryDelaySeconds({ ...retry, attempts: Infinity }, failures, passing);
    if (seconds === undefined || refusals >= retry.attempts) throw failure;
    await rest(retry, seconds, signal);
  }
}

/**
 * Yields the events of one connection until it ends. Throws what `Http` throws, and
 * invalid_response.
 */
async function* connect(
  http: Http,
  { deviceId, since, signal }: SyncEventsOptions,
): AsyncGenerator<SyncEvent, void, void> {
  const { pieces } = await http.open({
    method: 'GET',
    path: '/v1/sync/events',
    headers: {
      accept: 'text/event-stream',
      'x-device-id': deviceId,
      ...(since === undefined ? {} : { 'last-event-id': since }),
    },
    timeoutSeconds: quietSeconds,
    repeatable: false,
    signal,
  });
  yield* parseEvents(pieces);
}

async function* parseEvents(pieces: AsyncIterable<Bytes>): AsyncGenerator<SyncEvent, void, void> {
  let parsed: SyncEvent[] = [];
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent({ event, id, data }) {
      if (event === 'ready') parsed.push({ type: event, cursor: parseAnswer(Cursor, id) });
      if (event !== 'change') return;
      parsed.push({
        type: event,
        cursor: parseAnswer(Cursor, id),
        ...parseAnswer(Change, readJson(data)),
      });
    },
    onError(cause) {
      if (cause.type !== 'max-buffer-size-exceeded') return;
      throw new ClientError('invalid_response', { cause });
    },
  });
  const decoder = new TextDecoder();
  for await (const piece of pieces) {
    parser.feed(decoder.decode(piece, { stream: true }));
    yield* parsed;
    parsed = [];
  }
}

/** Waits for `seconds` or until the signal is aborted. */
async function rest(
  retry: RetryPolicy,
  seconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await retry.sleep(seconds, signal);
  } catch (error) {
    if (!isAborted(signal)) throw error;
  }
}

function isRefusal(failure: unknown): boolean {
  return failure instanceof VaultError && failure.status === 429;
}

/**
 * Returns whether the vault failed with status 500. The change feed treats this status as
 * transient, like 502 to 504.
 */
function isFault(failure: unknown): boolean {
  return failure instanceof VaultError && failure.status === 500;
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ClientError('invalid_response', { cause });
  }
}
