import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { answerWithFile } from '../documents/downloads/file-answer.ts';
import { mayRead } from '../documents/records/access.ts';
import { EventStream } from '../http/responses/event-stream.ts';
import { linkNextPage } from '../http/responses/next-page.ts';
import { listBytes } from '../http/responses/page.ts';
import { StreamedAnswer } from '../http/responses/streamed-answer.ts';
import { routeFor } from '../http/routing/route.ts';
import type { JobStreams } from './events/job-streams.ts';
import type { JobExports } from './exports.ts';
import type { Jobs } from './jobs.ts';
import {
  JobId,
  JobList,
  JobPage,
  JobView,
  RetriedJobView,
  SubmitJob,
  SubmittedJob,
} from './schema.ts';

const tag = 'Jobs';
const access = { scopes: ['jobs:submit'] } as const;
const path = '/v1/jobs';

/** Bytes of an archive that are in memory at once. */
const chunkBytes = 2 ** 19;
/** Bytes of the longest event. */
const eventBytes = 2 ** 8;

interface JobServices {
  readonly jobs: Jobs;
  readonly jobExports: JobExports;
  readonly jobStreams: JobStreams;
}

const route = routeFor<JobServices>();

const submissionErrors = [
  'queue_unavailable',
  'rate_limited',
  'quota_exceeded',
  'audit_backlog_full',
] as const;

export const jobRoutes = [
  route({
    method: 'post',
    path,
    operation: 'submitJob',
    tag,
    summary: 'Submits a job, which a worker runs soon after the response',
    access,
    body: SubmitJob,
    maxBodyBytes: smallBodyBytes,
    idempotent: true,
    status: 202,
    response: SubmittedJob,
    errors: [...submissionErrors, 'access_denied', 'not_found'],
    audit: { actions: ['job.submitted'] },
    handler: ({ jobs }, { request, body }) => jobs.submit(request, body),
  }),
  route({
    method: 'get',
    path,
    operation: 'listJobs',
    tag,
    summary: 'Lists the caller’s own jobs, newest first',
    access,
    query: JobPage,
    status: 200,
    response: JobList,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ jobs }, { request, query, reply }) => {
      const { jobs: page, cursor } = await jobs.list(request, query);
      linkNextPage(reply, query, cursor);
      return page;
    },
  }),
  route({
    method: 'get',
    path: `${path}/:jobId`,
    operation: 'getJob',
    tag,
    summary: 'Returns a job of the caller, or for operators of others, with its result',
    access,
    params: JobId,
    status: 200,
    response: JobView,
    errors: ['not_found'],
    handler: ({ jobs }, { request, params }) => jobs.get(request, params.jobId),
  }),
  route({
    method: 'post',
    path: `${path}/:jobId/retry`,
    operation: 'retryJob',
    tag,
    summary: 'Submits a failed job again, as a new job',
    access,
    params: JobId,
    status: 202,
    response: RetriedJobView,
    errors: [
      ...submissionErrors,
      'not_found',
      'job_not_failed',
      'job_not_retryable',
      'job_retries_used_up',
    ],
    audit: { actions: ['job.retried'] },
    handler: ({ jobs }, { request, params }) => jobs.retry(request, params.jobId),
  }),
  route({
    method: 'get',
    path: `${path}/:jobId/events`,
    operation: 'streamJob',
    tag,
    summary: 'Streams the status of a job as it changes, as server-sent events',
    access,
    params: JobId,
    status: 200,
    response: EventStream,
    maxAnswerBytes: eventBytes,
    errors: ['not_found', 'too_many_feeds', 'shutting_down'],
    handler: async ({ jobStreams }, { request, params }): Promise<EventStream> => ({
      open: (listener) => jobStreams.open(request, params.jobId, listener),
    }),
  }),
  route({
    method: 'get',
    path: `${path}/:jobId/export`,
    operation: 'downloadExport',
    tag,
    summary: 'Returns the archive of an evidence export, or one range of it',
    access: { scopes: [...access.scopes, ...mayRead.scopes] },
    params: JobId,
    status: 200,
    response: StreamedAnswer,
    maxAnswerBytes: chunkBytes,
    errors: [
      'invalid_request',
      'not_found',
      'export_expired',
      'precondition_failed',
      'range_not_satisfiable',
      'storage_unavailable',
      'rate_limited',
    ],
    audit: {
      actions: ['document.downloaded'],
      note: 'with `jobId`, once the download has ended, but none for HEAD and 304',
    },
    handler: async ({ jobExports }, { request, params, http, reply }): Promise<StreamedAnswer> => {
      const found = await jobExports.find(request, params.jobId, http.stream);
      return answerWithFile(http.stream, reply, found);
    },
  }),
];
