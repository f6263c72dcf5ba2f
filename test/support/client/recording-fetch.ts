export interface SentRequest {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** The status; undefined if no response came. */
  readonly status: number | undefined;
}

/** Creates a fetch that sends real requests and records them, in the order of the responses. */
export function recordingFetch(): {
  readonly fetch: typeof globalThis.fetch;
  readonly sent: SentRequest[];
} {
  const sent: SentRequest[] = [];
  return {
    sent,
    async fetch(input, init) {
      const request = { method: init?.method ?? 'GET', path: pathOf(input) };
      try {
        const response = await fetch(input, init);
        sent.push({ ...request, status: response.status });
        return response;
      } catch (error) {
        sent.push({ ...request, status: undefined });
        throw error;
      }
    },
  };
}

/** Returns the path, without the query, from the first argument of fetch. */
export function pathOf(input: Parameters<typeof globalThis.fetch>[0]): string {
  return new URL(input instanceof Request ? input.url : input).pathname;
}

/** Returns the numbers of the parts that the vault stored, in ascending order. */
export function storedParts(sent: readonly SentRequest[]): number[] {
  return sent
    .filter(({ method, status }) => method === 'PUT' && status === 200)
    .flatMap(({ path }) => /\/parts\/(\d+)$/.exec(path)?.slice(1) ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}
