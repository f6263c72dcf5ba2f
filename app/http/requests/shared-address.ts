import type { Clock } from '../../async/clock.ts';
import { networkOf } from '../../limits/network.ts';
import type { Log } from '../../telemetry/log.ts';
import type { RequestInfo } from './request.ts';

/** The number of users behind one client address from which on it is reported as shared. */
export const sharedByUsers = 10;
const windowMs = 3_600_000;
/** The number of users that are remembered in a window. */
const maxUsers = 1_000;

/** A client address that stands for many users, most likely because it is a proxy's. */
export interface SharedAddress {
  readonly users: number;
  readonly since: Date;
}

interface SharedAddressOptions {
  readonly log: Log;
  readonly clock: Clock;
}

export type SharedAddressWatch = ReturnType<typeof createSharedAddressWatch>;

/**
 * Creates a watch for a proxy that is missing in HTTP_TRUSTED_PROXIES: all users behind it have the
 * proxy's client address, and share its limits. The watch finds a client address that passes on
 * requests (X-Forwarded-For) of at least 10 users, and of half of the users of an hour. A network
 * whose clients share an address without such a proxy does not count, nor do requests without a
 * user, which anyone can invent.
 */
export function createSharedAddressWatch({ log, clock }: SharedAddressOptions) {
  let windowEndsAt = -Infinity;
  /** The proxy through which each user came last; undefined for a user who came directly. */
  const proxyOf = new Map<string, string | undefined>();
  let found: (SharedAddress & { readonly confirmedAt: number }) | undefined;
  let warnedUntil = -Infinity;

  function beginWindow(nowMs: number): void {
    proxyOf.clear();
    windowEndsAt = nowMs + windowMs;
  }

  function confirm(proxy: string, users: number, nowMs: number): void {
    const since = current()?.since ?? new Date(nowMs);
    found = { users, since, confirmedAt: nowMs };
    if (nowMs < warnedUntil) return;
    warnedUntil = nowMs + windowMs;
    log.warn(
      { clientAddress: proxy, users },
      'many users share one client address, and so its rate limits: if it is your proxy, add its ' +
        'network to HTTP_TRUSTED_PROXIES, and let it send plain addresses in X-Forwarded-For',
    );
  }

  /** Returns the shared client address that was found within the last hour. */
  function current(): SharedAddress | undefined {
    if (found === undefined || clock().getTime() - found.confirmedAt > windowMs) return undefined;
    return { users: found.users, since: found.since };
  }

  return {
    current,

    /** Notes a request of a user. */
    note(userId: string, { clientAddress, isPassedOn }: Sender): void {
      const nowMs = clock().getTime();
      if (nowMs >= windowEndsAt) beginWindow(nowMs);
      const proxy = isPassedOn ? networkOf(clientAddress) : undefined;
      const isNoted = proxyOf.has(userId);
      if (isNoted ? proxyOf.get(userId) === proxy : proxyOf.size >= maxUsers) return;
      proxyOf.set(userId, proxy);
      if (proxy === undefined) return;
      const users = [...proxyOf.values()].filter((other) => other === proxy).length;
      if (users >= sharedByUsers && users * 2 >= proxyOf.size) confirm(proxy, users, nowMs);
    },
  };
}

type Sender = Pick<RequestInfo, 'clientAddress' | 'isPassedOn'>;
