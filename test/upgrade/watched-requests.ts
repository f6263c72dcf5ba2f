/** Requests of clients, counted by what became of them. */
export interface WatchedRequests {
  readonly fetch: typeof globalThis.fetch;
  /** Number of the requests that got a response. */
  readonly answered: () => number;
  /** Requests without a response, and those that the vault or the network refused. */
  readonly failures: readonly string[];
}

/** Wraps `fetch` so that every request that fails is recorded, whatever its caller does then. */
export function watchRequests(fetch: typeof globalThis.fetch): WatchedRequests {
  const failures: string[] = [];
  let answered = 0;
  return {
    failures,
    answered: () => answered,
    async fetch(input, init) {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      const request = `${new Date().toISOString()} ${init?.method ?? 'GET'} ${pathname}`;
      try {
        const response = await fetch(input, init);
        answered += 1;
        if (!response.ok) {
          failures.push(`${request}: ${response.status} ${await response.clone().text()}`);
        }
        return response;
      } catch (error) {
        if (init?.signal?.aborted !== true) failures.push(`${request}: ${describe(error)}`);
        throw error;
      }
    },
  };
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`;
}
