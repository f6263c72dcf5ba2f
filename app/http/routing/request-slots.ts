import type { Context, Next } from 'koa';
import type { BusyRest } from '../../async/busy-rest.ts';
import { createFairSlots, type FairSlots } from '../../async/fair-slots.ts';
import { networkOf } from '../../limits/network.ts';
import { AppError } from '../../errors/app-error.ts';
import { EventStream } from '../responses/event-stream.ts';
import { StreamedAnswer } from '../responses/streamed-answer.ts';
import { JsonText } from '../responses/json-text.ts';
import { endOf, type Exchange } from '../requests/exchange.ts';
import { requestInfo } from '../requests/request-context.ts';
import type { RefusalPace } from './refusal-pace.ts';
import type { Route } from './route.ts';

/** Limits on the requests that one listener serves at a time. */
export interface RequestLimits {
  /** Requests of one user, or of one address without an access token. */
  readonly requestsPerClient: number;
  /** Uploads of parts and downloads of one user. */
  readonly transfersPerUser: number;
  /** Uploads of parts and downloads of all users. */
  readonly transfers: number;
}

export type RequestSlots = ReturnType<typeof createRequestSlots>;

type Streaming = Pick<Route, 'response' | 'streamsBody' | 'streamsForm' | 'waitsLong'>;

/** Requests of one client that may wait for a slot; each uses a few kilobytes meanwhile. */
export const waitingPerKey = 512;
/** Bytes of JSON text that count like one millisecond of work, by which a slot rests longer. */
const bytesPerMs = 24 * 2 ** 10;
const requestWaitMs = 10_000;
const transferWaitMs = 30_000;
/** A form occupies more memory than another transfer: two parts of the file at a time. */
export const formsPerUser = 2;
export const forms = 12;
/** Requests that wait until a file is hashed occupy little more than their connection. */
export const waitsPerUser = 32;

/**
 * Creates the slots of requests. A client that sends many requests at once waits for itself, so
 * that others notice nothing of it: not in the event loop, not in Postgres, and not by the memory
 * of responses that the client does not read. Requests that last for minutes have slots of their
 * own. Change feeds have none here, since they have their own limit. Slots rest after their work,
 * as `restAfter` tells.
 */
export function createRequestSlots(limits: RequestLimits, restAfter: BusyRest) {
  const { requestsPerClient, transfersPerUser, transfers: inAll } = limits;
  const line = { waitingPerKey, waitMs: transferWaitMs };
  const requestLine = { ...line, perKey: requestsPerClient, waitMs: requestWaitMs };
  const requests = createFairSlots({ ...requestLine, restAfter });
  const admissions = createFairSlots(requestLine);
  const transfers = createFairSlots({ ...line, perKey: transfersPerUser, inAll });
  const formUploads = createFairSlots({ ...line, perKey: formsPerUser, inAll: forms, restAfter });
  const waits = createFairSlots({ ...line, perKey: waitsPerUser });

  function slotsOf(route: Streaming): FairSlots | undefined {
    if (route.response === EventStream) return undefined;
    if (route.streamsForm !== undefined) return formUploads;
    if (route.streamsBody === true || route.response === StreamedAnswer) return transfers;
    return route.waitsLong === true ? waits : requests;
  }

  return {
    /**
     * Waits for a slot of the client address, in which a request is identified, and returns the
     * function that releases it. Throws busy, and client_gone.
     */
    admit: (clientAddress: string, exchange: Exchange): Promise<() => void> =>
      admissions.acquire(networkOf(clientAddress), endOf(exchange)),

    /**
     * Does the work of a route in a slot of the client. Holds the slot until the work has ended,
     * even if the client has gone, and until the response of a success, or a large error, has been
     * sent or the connection has closed. Settles as `work` does; throws busy if too many requests
     * of the client wait, and client_gone.
     */
    async serve<T>(
      route: Streaming,
      client: string,
      exchange: Exchange,
      work: () => Promise<T>,
    ): Promise<T> {
      const slots = slotsOf(route);
      if (slots === undefined) return work();
      const ended = endOf(exchange);
      const release = await slots.acquire(client, ended);
      const releaseWhenSent = (moreMs: number) => {
        const leave = () => release(moreMs);
        if (ended.aborted) leave();
        else ended.addEventListener('abort', leave, { once: true });
      };
      try {
        ended.throwIfAborted();
        const result = await work();
        releaseWhenSent(result instanceof JsonText ? sendingMs(result.bytes.length) : 0);
        return result;
      } catch (error) {
        const length = lengthOf(error);
        if (length === 0) release();
        else releaseWhenSent(sendingMs(length));
        throw error;
      }
    },
  };
}

/** Returns the milliseconds of work as which the sending of a response counts. */
function sendingMs(bytes: number): number {
  return bytes / bytesPerMs;
}

/** Returns about how many bytes the large members of an error have. */
function lengthOf(error: unknown): number {
  const texts = error instanceof AppError ? Object.values(error.texts) : [];
  return texts.reduce((sum, text) => sum + text.length, 0);
}

/**
 * Lets the requests of one client address be identified only a few at a time, but for those whose
 * path is of a probe. Refusals wait for `pace`, without a slot: responses to requests that no route
 * has handled, and to those that the client is to repeat later.
 */
export function admitInTurn(
  slots: RequestSlots,
  pace: RefusalPace,
  probePaths: ReadonlySet<string>,
) {
  return async function waitForAdmission(ctx: Context, next: Next): Promise<void> {
    const { clientAddress, path } = requestInfo(ctx);
    const isProbe = probePaths.has(path);
    let leave = () => {};
    const waitForPace = () => {
      leave();
      return pace.wait(clientAddress, endOf(ctx)).catch(() => undefined);
    };
    try {
      if (!isProbe) leave = await slots.admit(clientAddress, ctx);
      ctx.state.leaveAdmission = leave;
      await next();
      if (ctx.state.isHandled !== true && ctx.status >= 400) await waitForPace();
    } catch (error) {
      if (ctx.state.isHandled !== true || isForLater(error)) await waitForPace();
      throw error;
    } finally {
      leave();
    }
  };
}

/** Releases the slot of `admitInTurn`, once it is known who sent the request. */
export function leaveAdmission(ctx: Context): void {
  (ctx.state.leaveAdmission as () => void)();
}

function isForLater(error: unknown): boolean {
  return error instanceof AppError && (error.status === 429 || error.code === 'busy');
}
