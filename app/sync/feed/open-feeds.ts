import type { Feed } from './feed.ts';

export interface OpenFeed extends Feed {
  readonly id: string;
  readonly userId: string;
  readonly tenantId: string;
  readonly sessionId: string | undefined;
  readonly deviceId: string;
  /** The time at which the access token expires. */
  readonly expiresAt: Date;
}

/** Creates the set of this process's feeds whose clients are connected. */
export function createOpenFeeds() {
  const all = new Set<OpenFeed>();
  const byUser = new Map<string, Set<OpenFeed>>();
  const of = (userId: string): Set<OpenFeed> => byUser.get(userId) ?? new Set<OpenFeed>();

  function remove(feed: OpenFeed): void {
    all.delete(feed);
    const others = of(feed.userId);
    others.delete(feed);
    if (others.size === 0) byUser.delete(feed.userId);
  }

  return {
    /** Adds a feed to the set, and removes the feed when `gone` aborts. */
    add(feed: OpenFeed, gone: AbortSignal): void {
      all.add(feed);
      byUser.set(feed.userId, of(feed.userId).add(feed));
      gone.addEventListener('abort', () => remove(feed), { once: true });
    },
    all: (): ReadonlySet<OpenFeed> => all,
    of: (userId: string): Iterable<OpenFeed> => of(userId),
    userIds: (): string[] => [...byUser.keys()],
    /** Makes every open change feed of a user look for new changes at once. */
    wake(userId: string): void {
      for (const feed of of(userId)) feed.wake();
    },
  };
}
