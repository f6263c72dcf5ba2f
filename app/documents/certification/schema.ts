import { z } from 'zod';
import { Proof } from '../../proof/schema.ts';
import { IntegerText, Limit, MonthText, Uuid } from '../../http/bodies/wire.ts';

export const DocumentProofPage = z.strictObject({
  limit: Limit,
  cursor: IntegerText(1, 999_999_999)
    .optional()
    .describe('Place after which the page begins, from the `Link` of the page before.'),
});

export const DocumentProofList = z
  .strictObject({
    documentId: Uuid.describe('Id of the document.'),
    proofs: z.array(Proof).describe('Audit proofs of the document, oldest first.'),
    actions: z
      .record(z.string(), z.string())
      .describe('The action of each proof by its id, such as `document.sealed`.'),
    archivedMonths: z
      .array(MonthText)
      .optional()
      .describe(
        'Months in UTC, such as `2026-01`, that are archived outside of the vault: proofs of the ' +
          'document from these months are left out. Absent if nothing is.',
      ),
  })
  .meta({ id: 'DocumentProofs' });
