import { pathOf } from '../support/client/recording-fetch.ts';

/** A way to the vault on which a test may change what it answers. */
export interface TamperedLine {
  readonly fetch: typeof globalThis.fetch;
  /** The bodies sent so far. */
  readonly sent: readonly string[];
  /** While `work` runs, JSON answers from this path are what `change` makes of them. */
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
