import { z } from 'zod';

/** One kind of audit entry: its `resource.type`, its actor, and the members of its `data`. */
export interface EventKind {
  readonly resource: string;
  /** The actor as docs/audit-actions.md names it. */
  readonly actor: string;
  /** The members of `data`: no secret, no plaintext, no e-mail address and no file name. */
  readonly data: z.ZodObject;
  /** An explanation of `data` for docs/audit-actions.md. */
  readonly note?: string;
}

export const Text = z.string();
export const Count = z.int();
export const nothing = z.strictObject({});
export const theUser = 'the user';
