import { z } from 'zod';
import { Base64, Base64Text, IntegerText, Limit, Uuid } from '../http/bodies/wire.ts';

/** Maximum bytes of a record before base64. */
export const maxRecordBytes = 2 ** 16;

const writer = Uuid.describe('Id of a device of the caller, or a random id (UUID).');
const number = z
  .int()
  .min(1)
  .max(2 ** 31 - 1)
  .describe('Place among the records of the writer, above that of the one before.');
const position = z.int().min(1).describe('Place in the order in which records were stored.');

export const MemoryPage = z.strictObject({
  limit: Limit,
  cursor: IntegerText(0, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('The `position` after which the page begins. Default: the start.'),
});

export const AddMemoryRecord = z
  .strictObject({
    writer,
    number,
    record: Base64(maxRecordBytes),
    discardBefore: number
      .optional()
      .describe('Removes the records of the writer below this number; for devices only.'),
  })
  .meta({ id: 'NewMemoryRecord' });

export const MemoryRecordView = z
  .strictObject({
    position,
    writer,
    number,
    record: Base64Text.describe('As the client encrypted it.'),
  })
  .meta({ id: 'MemoryRecord' });

export const MemoryRecordList = z.array(MemoryRecordView);

export const AddedMemoryRecord = z.strictObject({ position }).meta({ id: 'AddedMemoryRecord' });

export const MemoryWriter = z.strictObject({ writer });
