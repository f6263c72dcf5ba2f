export interface SentRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Undefined if no answer came. */
  readonly status: number | undefined;
}

/** Sends for real and keeps what was sent, in the order of the answers. */
export function recordingFetch(): { fetch: typeof globalThis.fetch; sent: SentRequest[] } {
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

/** Of a request's first argument to fetch, without the query. */
export function pathOf(input: Parameters<typeof globalThis.fetch>[0]): string {
  return new URL(input instanceof Request ? input.url : input).pathname;
}

/** Numbers of the parts that the vault took, in ascending order. */
export function storedParts(sent: readonly SentRequest[]): number[] {
  return sent
    .filter(({ method, status }) => method === 'PUT' && status === 200)
    .map(({ path }) => Number(path.split('/').at(-1)))
    .sort((a, b) => a - b);
}
