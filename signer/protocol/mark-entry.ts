import { z } from 'zod';
import { KeyId } from './protocol.ts';
import { markAction, noOwner } from './reserved-actions.ts';

const KeyIds = z
  .string()
  .transform((text) => (text === '' ? [] : text.split(' ')))
  .pipe(z.array(KeyId));

/**
 * The entry of a high-water mark, which says how much the audit log of a vault holds. `keyIds` are
 * the ids of all registered keys, separated by spaces.
 */
export const MarkEntry = z
  .object({
    id: z.guid(),
    timestamp: z.iso.datetime(),
    actor: z.strictObject({ type: z.literal('system'), id: z.literal('marks') }),
    tenant: z.literal('system'),
    action: z.literal(markAction),
    resource: z.strictObject({
      type: z.literal('mark'),
      id: z.guid(),
      owner: z.literal(noOwner),
    }),
    seq: z.literal(1),
    outcome: z.literal('success'),
    requestId: z.null(),
    data: z.strictObject({
      sealed: z.int().nonnegative(),
      newestEntryId: z.guid().nullable(),
      keyIds: KeyIds,
    }),
  })
  .refine(({ id, resource }) => resource.id === id);
export type MarkEntry = z.output<typeof MarkEntry>;
