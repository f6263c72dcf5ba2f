import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Context, Next } from 'koa';
import { createFairSlots, type FairSlots } from '../../async/fair-slots.ts';
import { networkOf } from '../../limits/network.ts';
import { AppError } from '../../errors/app-error.ts';
import { EventStream } from '../responses/event-stream.ts';
import { StreamedAnswer } from '../responses/streamed-answer.ts';
import { requestInfo } from '../requests/request-context.ts';
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

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

export type RequestSlots = ReturnType<typeof createRequestSlots>;

type Streaming = Pick<Route, 'response' | 'streamsBody' | 'streamsForm' | 'waitsLong'>;

/** Requests of one client that may wait for a slot; each uses a few kilobytes meanwhile. */
export const waitingPerKey = 512;
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
 * own. Change feeds have none here, since they have their own limit.
 */
export function createRequestSlots(limits: RequestLimits) {
  const { requestsPerClient, transfersPerUser, transfers: inAll } = limits;
  const line = { waitingPerKey, waitMs: transferWaitMs };
  const requests = createFairSlots({ ...line, perKey: requestsPerClient, waitMs: requestWaitMs });
  const admissions = createFairSlots({ ...line, perKey: requestsPerClient, waitMs: requestWaitMs });
  const transfers = createFairSlots({ ...line, perKey: transfersPerUser, inAll });
  const formUploads = createFairSlots({ ...line, perKey: formsPerUser, inAll: forms });
  const waits = createFairSlots({ ...line, perKey: waitsPerUser });

  function slotsOf(route: Streaming): FairSlots | undefined {
    if (route.response === EventStream) return undefined;
    if (route.streamsForm !== undefined) return formUploads;
    if (route.streamsBody === true || route.response === StreamedAnswer) return transfers;
    return route.waitsLong === true ? waits : requests;
  }

  /** Waits for a slot and holds it until `release` is called or the response has ended. */
  async function hold(slots: FairSlots, key: string, exchange: Exchange): Promise<() => void> {
    const ended = endOf(exchange);
    const release = await slots.acquire(key, ended);
    if (ended.aborted) release();
    else ended.addEventListener('abort', release, { once: true });
    return release;
  }

  return {
    /**
     * Waits for a slot of the client address, in which the request is identified, and returns a
     * function that releases it. Otherwise holds it until the response has been sent, so that
     * refused requests are limited too. Throws busy, and client_gone.
     */
    admit: (clientAddress: string, exchange: Exchange): Promise<() => void> =>
      hold(admissions, networkOf(clientAddress), exchange),

    /**
     * Waits for a slot of the client and holds it until the response has been sent or the
     * connection has closed. Throws busy if too many requests of the client wait, and client_gone.
     */
    async serve(route: Streaming, client: string, exchange: Exchange): Promise<void> {
      const slots = slotsOf(route);
      if (slots !== undefined) await hold(slots, client, exchange);
    },
  };
}

const endings = new WeakMap<ServerResponse, AbortSignal>();

/**
 * Returns the signal that aborts, with client_gone, once a response has been sent or its connection
 * has closed.
 */
function endOf({ req, res }: Exchange): AbortSignal {
  const known = endings.get(res);
  if (known !== undefined) return known;
  const over = new AbortController();
  const end = () => over.abort(new AppError('client_gone'));
  res.once('close', end);
  if (req.socket.destroyed) end();
  endings.set(res, over.signal);
  return over.signal;
}

/** Lets the requests of one client address be identified, or refused, only a few at a time. */
export function admitInTurn(slots: RequestSlots) {
  return async function waitForAdmission(ctx: Context, next: Next): Promise<void> {
    ctx.state.leaveAdmission = await slots.admit(requestInfo(ctx).clientAddress, ctx);
    await next();
  };
}

/** Releases the slot of `admitInTurn`, once it is known who sent the request. */
export function leaveAdmission(ctx: Context): void {
  (ctx.state.leaveAdmission as () => void)();
}
