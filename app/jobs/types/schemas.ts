import { z } from 'zod';
import { Email } from '../../accounts/email.ts';
import { Digest, Uuid } from '../../http/bodies/wire.ts';

export const JobTypeName = z
  .enum(['DOCUMENT_FIXITY', 'EMAIL_VALIDATION', 'EVIDENCE_EXPORT'])
  .describe('Type of the job.');

export const EmailValidation = z
  .strictObject({ email: Email.describe('The e-mail address of the registration.') })
  .meta({ id: 'EmailValidationPayload' });

export const EmailValidationResult = z
  .strictObject({
    processed: z.literal(true).describe('Always this value, whether or not an e-mail was sent.'),
  })
  .meta({ id: 'EmailValidationResult' });

export const DocumentFixity = z
  .strictObject({ documentId: Uuid.describe('Id of a document that the caller may read.') })
  .meta({ id: 'DocumentFixityPayload' });

const CheckedVersion = z
  .strictObject({
    version: z.int().min(1).describe('Number of the version.'),
    state: z
      .enum(['whole', 'damaged', 'missing'])
      .describe(
        '`whole` if the stored file has its hash; `damaged` if other bytes are stored, or not ' +
          'all; `missing` if the object store has no such file.',
      ),
    fileHash: Digest.describe('SHA3-256 of the encrypted file as it was uploaded: hex.'),
    foundHash: Digest.nullable().describe(
      'SHA3-256 of the stored bytes: hex. Null if they could not be read to the end.',
    ),
  })
  .meta({ id: 'CheckedVersion' });

export const DocumentFixityResult = z
  .strictObject({
    documentId: Uuid.describe('Id of the document.'),
    versions: z
      .array(CheckedVersion)
      .max(1_000)
      .describe('The versions that the caller may read, oldest first.'),
  })
  .meta({ id: 'DocumentFixityResult' });

export const EvidenceExport = z
  .strictObject({
    documentId: Uuid.describe('Id of a document of the caller.'),
    includeFile: z
      .boolean()
      .optional()
      .describe('Whether the archive has the stored files too. Default: false.'),
  })
  .meta({ id: 'EvidenceExportPayload' });

export const EvidenceExportResult = z
  .strictObject({
    documentId: Uuid.describe('Id of the document.'),
    through: z.int().min(1).describe('Number of the last entry of the document in the archive.'),
    proofId: Uuid.describe('Id of the entry that records the export.'),
    manifestHash: z.string().describe('SHA3-256 of the manifest in the archive, hex.'),
    downloadPath: z.string().describe('Path at which the archive can be downloaded.'),
    size: z.int().min(1).describe('Size of the archive in bytes.'),
    hash: z.string().describe('SHA3-256 of the archive, hex.'),
    expiresAt: z.iso.datetime().describe('When the archive is removed.'),
  })
  .meta({ id: 'EvidenceExportResult' });
