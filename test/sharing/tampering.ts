import { pathOf } from '../support/client/recording-fetch.ts';

/** A connection to the vault whose responses a test may change. */
export interface TamperedLine {
  readonly fetch: typeof globalThis.fetch;
  /** Bodies of all requests so far. */
  readonly sent: readonly string[];
  /** Replaces JSON responses of this path by what `change` returns, while `work` runs. */
  tamper(path: string, change: (body: object) => unknown, work: () => Promise<void>): Promise<void>;
}

export function createTamperedLine(): TamperedLine {
  const sent: string[] = [];
  let changed: { path: string; change: (body: object) => unknown } | undefined;
  return {
    sent,
    async fetch(input, init) {
      if (typeof init?.body === 'string') sent.push(init.body);
      const response = await fetch(input, init);
      if (changed === undefined || pathOf(input) !== changed.path) return response;
      const { headers } = response;
      return Response.json(changed.change((await response.json()) as object), { headers });
    },
    async tamper(path, change, work) {
      changed = { path, change };
      try {
        await work();
      } finally {
        changed = undefined;
      }
    },
  };
}
