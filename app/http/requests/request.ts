import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Tx } from '../../db/database.ts';
import type { Caller } from './caller.ts';

/** The HTTP request as handlers see it, beyond their parsed input. */
export interface RequestInfo {
  /** The client's X-Request-Id, or the server's id when it sent none; for logs and responses. */
  readonly id: string;
  /** The server's own id of the request (UUID), the only request id that enters audit entries. */
  readonly serverId: string;
  /** The requested path, or the whole request target if that is not a valid URL. */
  readonly path: string;
  /** The client's network address behind the trusted proxies. */
  readonly clientAddress: string;
  /** Whether that address says that it passed on the request of another client. */
  readonly isPassedOn: boolean;
  readonly headers: IncomingHttpHeaders;
  /** The raw body, for routes that stream it. */
  readonly stream: IncomingMessage;
}

/** The sender of a request, for rate limits and audit entries; not the Origin header. */
export interface Origin {
  /** The client's network address behind the trusted proxies. */
  readonly clientAddress: string;
  /** The server's own id of the request (UUID). */
  readonly requestId: string;
}

/** Keeps the response of a request that carries an Idempotency-Key. */
export interface Idempotency {
  /**
   * Keeps the response body in the transaction of the action: both are stored or neither. Throws
   * idempotency_in_progress if another request has taken over the key meanwhile.
   */
  keep(tx: Tx, answer: unknown): Promise<void>;
}

/** A request as services take it, always as their first argument. */
export interface ServiceRequest<C = Caller> extends Origin {
  readonly caller: C;
  /** Present on idempotent routes when the request carries an Idempotency-Key. */
  readonly idempotency?: Idempotency | undefined;
  /**
   * Aborted with client_gone when the client hangs up. Present on routes that may take minutes
   * (`waitsLong`).
   */
  readonly hangUp?: AbortSignal | undefined;
}

/** Sets parts of the response beyond its body. */
export interface Reply {
  set(name: string, value: string): void;
  /** Sets another status than the route's own. */
  status(code: number): void;
}
