import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** What handlers may know of the HTTP request beyond their parsed input. */
export interface RequestInfo {
  /** The client's X-Request-Id or ours; for logs and answers. */
  readonly id: string;
  /** Always ours (UUID); the only one that enters audit entries. */
  readonly serverId: string;
  /** The path asked for; the whole request target where that is no URL. */
  readonly path: string;
  /** The client's address behind the trusted proxies. */
  readonly clientAddress: string;
  readonly headers: IncomingHttpHeaders;
  /** The raw body, for routes that stream it. */
  readonly stream: IncomingMessage;
}

/** Where a request came from, for limits and entries. */
export interface Origin {
  readonly address: string;
  readonly requestId: string;
}

export function originOf({ clientAddress, serverId }: RequestInfo): Origin {
  return { address: clientAddress, requestId: serverId };
}

/** What handlers may set on the answer beyond its body. */
export interface Reply {
  set(name: string, value: string): void;
  /** Another status than the route's own. */
  status(code: number): void;
}
