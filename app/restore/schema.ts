import { z } from 'zod';
import { Timestamp, Uuid } from '../http/bodies/wire.ts';

const Count = z.int().min(0);

const NewestMark = z
  .strictObject({
    id: Uuid.describe('Id of the mark.'),
    writtenAt: Timestamp.describe('When the mark was signed.'),
    ageSeconds: Count.describe('Seconds since then.'),
    state: z
      .enum(['valid', 'missing', 'unreadable'])
      .describe(
        '`valid` if the object store has the mark and a key of this vault signed it; `missing` ' +
          'if it has no such mark; `unreadable` if the object store does not answer.',
      ),
    sealedEntries: Count.nullable().describe(
      'Entries that were sealed when the mark was signed; null unless it is `valid`.',
    ),
    newestEntryId: Uuid.nullable().describe(
      'Id of the newest entry that the mark covers; null if it covers none or is not `valid`.',
    ),
  })
  .meta({ id: 'NewestHighWaterMark' });

export const HighWaterMarks = z
  .strictObject({
    sealedEntries: Count.describe('Entries that were ever sealed.'),
    unmarkedEntries: Count.nullable().describe(
      'Sealed entries that no mark covers; null if the newest mark cannot be read.',
    ),
    unmarkedAgeSeconds: Count.nullable().describe(
      'Seconds since the first entry after the newest mark was sealed; null without one, or if ' +
        'the mark cannot be read.',
    ),
    newest: NewestMark.nullable().describe('The newest mark; null if none was ever written.'),
  })
  .meta({ id: 'HighWaterMarks' });
