import { z } from 'zod';

const Count = z.string().regex(/^[1-9]\d{0,15}$/);

/**
 * The encrypted statements in an object by device and count. Only the newest of each device counts;
 * a write that is based on an earlier version leaves the one before it in place.
 */
export const SealedStatements = z.record(z.string(), z.record(Count, z.string()));
export type SealedStatements = Readonly<z.output<typeof SealedStatements>>;

/** A statement of a write as it is sent. */
export const SentStatement = z.object({
  count: z.int().positive(),
  /** The encrypted statement. */
  leaf: z.string(),
  /** The counts of the statements that it replaces. */
  replaces: z.array(z.string()),
});
export type SentStatement = Readonly<z.output<typeof SentStatement>>;
