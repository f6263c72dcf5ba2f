import type { Memory } from '../../../client/memory/memory.ts';

/** A memory that remembers nothing, of a user whose master key was never replaced. */
export const noMemory: Pick<Memory, 'generationOf' | 'lookAtObjects'> = {
  generationOf: async () => 1,
  lookAtObjects: async () => ({
    listed: () => undefined,
    known: () => [],
    saw: async () => {},
    end: () => {},
  }),
};
