import { z } from 'zod';
import { parseInput } from '../../http/bodies/validation.ts';
import { CreateUpload } from '../../uploads/sessions/schema.ts';
import { CreateDocument } from '../records/schema.ts';

/** The JSON of the field `document`. */
const FormDocument = CreateDocument.omit({ storagePath: true }).meta({ id: 'FormDocument' });
const FormFile = CreateUpload.pick({ fileName: true, mimeType: true });

const DocumentField = z.strictObject({ document: FormDocument });
const FileField = z.strictObject({ file: FormFile });

/** The fields of the form, for the OpenAPI document. */
export const UploadForm = z
  .strictObject({
    document: FormDocument.describe('JSON text, the first field of the form.'),
    file: z.string().meta({
      description:
        'The encrypted file, with a file name and an allowed media type; the second field.',
      format: 'binary',
      contentMediaType: 'application/octet-stream',
    }),
  })
  .meta({ id: 'DocumentForm' });

/** Parses the JSON value of the field `document`. Throws validation_failed. */
export function parseDocumentField(value: unknown): z.output<typeof FormDocument> {
  const fields = { document: value };
  return (parseInput(DocumentField, fields, 'body') as z.output<typeof DocumentField>).document;
}

/** Parses the name and media type of the file. Throws validation_failed. */
export function parseFileField(
  file: Readonly<Record<keyof z.input<typeof FormFile>, string | undefined>>,
): z.output<typeof FormFile> {
  return (parseInput(FileField, { file }, 'body') as z.output<typeof FileField>).file;
}
