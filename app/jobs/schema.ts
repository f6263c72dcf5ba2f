import { z } from 'zod';
import { Limit, Timestamp, Uuid, UuidCursor } from '../http/bodies/wire.ts';
import {
  DocumentFixity,
  DocumentFixityResult,
  EmailValidation,
  EmailValidationResult,
  EvidenceExport,
  EvidenceExportResult,
  JobTypeName,
} from './types/schemas.ts';

const JobStatus = z
  .enum(['PENDING', 'ACTIVE', 'COMPLETED', 'FAILED', 'RETRIED'])
  .describe('`RETRIED` is a failed job that was submitted again.');
const jobId = Uuid.describe('Id of the job.');
const submittedAt = Timestamp.describe('When the job was submitted.');
const retryCount = z.int().min(0).describe('Position in the chain of retries, from 0.');

export const JobId = z.strictObject({ jobId });

export const SubmitJob = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('EMAIL_VALIDATION').describe('Sends the e-mail of a registration again.'),
        payload: EmailValidation.describe('Whose registration it is.'),
      })
      .meta({ id: 'EmailValidationJob' }),
    z
      .strictObject({
        type: z
          .literal('EVIDENCE_EXPORT')
          .describe('Writes the evidence of a document into an archive.'),
        payload: EvidenceExport.describe('Whose evidence is exported.'),
      })
      .meta({ id: 'EvidenceExportJob' }),
    z
      .strictObject({
        type: z
          .literal('DOCUMENT_FIXITY')
          .describe('Reads the stored files of a document and compares them with their hashes.'),
        payload: DocumentFixity.describe('Which document it is.'),
      })
      .meta({ id: 'DocumentFixityJob' }),
  ])
  .meta({ id: 'NewJob' });

export const SubmittedJob = z
  .strictObject({ jobId, status: z.literal('PENDING').describe('Always this value.'), submittedAt })
  .meta({ id: 'SubmittedJob' });

export const RetriedJobView = z
  .strictObject({
    jobId: Uuid.describe('Id of the new job.'),
    originalJobId: Uuid.describe('Id of the job that failed, whose status is now `RETRIED`.'),
    status: z.literal('PENDING').describe('Always this value.'),
    retryCount,
    submittedAt,
  })
  .meta({ id: 'RetriedJob' });

export const JobView = z
  .strictObject({
    jobId,
    type: JobTypeName,
    status: JobStatus,
    submittedAt,
    completedAt: Timestamp.nullable().describe('When the job was completed; null if it was not.'),
    failedAt: Timestamp.nullable().describe('When the job failed; null if it did not.'),
    result: z
      .union([EmailValidationResult, DocumentFixityResult, EvidenceExportResult])
      .nullable()
      .describe('The result, which depends on the type; null unless the job is completed.'),
    error: z.string().nullable().describe('A code that says why the job failed.'),
    retryable: z.boolean().nullable().describe('Whether a failed job can be retried.'),
    retryCount,
    originalJobId: Uuid.nullable().describe('The job that this one retries.'),
  })
  .meta({ id: 'Job' });

export const JobPage = z.strictObject({ limit: Limit, cursor: UuidCursor });

export const JobList = z.array(JobView);
