import type { Feed } from './feed.ts';

export interface OpenFeed extends Feed {
  readonly id: string;
  readonly userId: string;
  readonly tenantId: string;
  readonly sessionId: string | undefined;
  readonly deviceId: string;
  /** Of the token. */
  readonly expiresAt: Date;
}

/** The feeds of this process that have a listener. */
interface OpenFeeds {
  /** @param gone takes it out again. */
  add(feed: OpenFeed, gone: AbortSignal): void;
  all(): ReadonlySet<OpenFeed>;
  of(userId: string): Iterable<OpenFeed>;
  userIds(): string[];
  wake(userId: string): void;
}

export function createOpenFeeds(): OpenFeeds {
  const all = new Set<OpenFeed>();
  const byUser = new Map<string, Set<OpenFeed>>();
  const of = (userId: string) => byUser.get(userId) ?? new Set<OpenFeed>();

  function remove(feed: OpenFeed): void {
    all.delete(feed);
    const others = of(feed.userId);
    others.delete(feed);
    if (others.size === 0) byUser.delete(feed.userId);
  }

  return {
    add(feed, gone) {
      all.add(feed);
      byUser.set(feed.userId, of(feed.userId).add(feed));
      gone.addEventListener('abort', () => remove(feed), { once: true });
    },
    all: () => all,
    of,
    userIds: () => [...byUser.keys()],
    wake(userId) {
      for (const feed of of(userId)) feed.wake();
    },
  };
}
