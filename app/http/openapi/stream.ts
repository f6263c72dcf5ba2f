import { z } from 'zod';

const binary = { type: 'string', format: 'binary' } as const;

/** Content of requests and responses that consist of bytes. */
export const octets = { 'application/octet-stream': { schema: binary } };

/** Headers of a request for bytes. */
export const RangeHeaders = z.object({
  Range: z
    .string()
    .optional()
    .meta({ description: 'One range of bytes. A request for several ranges gets the whole file.' }),
  'If-Range': z
    .string()
    .optional()
    .meta({ description: 'The ETag of the file of which the range is requested.' }),
  'If-Match': z.string().optional(),
  'If-None-Match': z.string().optional(),
});

const headers = z.object({
  ETag: z.string(),
  'Accept-Ranges': z.literal('bytes'),
});

const contentRange = headers.extend({ 'Content-Range': z.string() });

/** Describes the responses of a route that streams bytes. */
export function streamedResponses(description: string) {
  return {
    '200': { description, headers, content: octets },
    '206': { description: 'The requested range', headers: contentRange, content: octets },
    '304': { description: 'Not modified: the copy of the client is current', headers },
  };
}

/** Describes the responses to HEAD of a route that streams bytes: the headers of the whole file. */
export function headResponses(description: string) {
  return {
    '200': { description: `${description}: only the headers`, headers },
    '304': { description: 'Not modified: the copy of the client is current', headers },
  };
}

/** Headers of a request for events. */
export const EventHeaders = z.object({
  'X-Device-Id': z.string(),
  'Last-Event-ID': z
    .string()
    .optional()
    .meta({ description: 'The id of the last event that the client read.' }),
});

/** Describes the response of a route that streams events. */
export function eventResponses(description: string) {
  return {
    '200': { description, content: { 'text/event-stream': { schema: { type: 'string' } } } },
  } as const;
}
