import { z } from 'zod';

const binary = { type: 'string', format: 'binary' } as const;

/** Bytes in either direction. */
export const octets = { 'application/octet-stream': { schema: binary } };

/** What a request for bytes may ask beside its path. */
export const RangeHeaders = z.object({
  Range: z.string().optional().meta({ description: 'One range of bytes; several give the whole.' }),
  'If-Range': z.string().optional().meta({ description: 'The ETag that the range is of.' }),
  'If-Match': z.string().optional(),
  'If-None-Match': z.string().optional(),
});

const headers = z.object({
  ETag: z.string(),
  'Accept-Ranges': z.literal('bytes'),
});

const contentRange = headers.extend({ 'Content-Range': z.string() });

/** The answers of a route that streams bytes. */
export function streamedResponses(description: string) {
  return {
    '200': { description, headers, content: octets },
    '206': { description: 'The range asked for', headers: contentRange, content: octets },
    '304': { description: 'What the client has is still what is there', headers },
  };
}

/** Its answers to HEAD: the headers of the whole. */
export function headResponses(description: string) {
  return {
    '200': { description: `${description}: its headers alone`, headers },
    '304': { description: 'What the client has is still what is there', headers },
  };
}

/** What a request for events may ask beside its path. */
export const EventHeaders = z.object({
  'X-Device-Id': z.string(),
  'Last-Event-ID': z.string().optional().meta({ description: 'The id of the last event read.' }),
});

/** The answer of a route that streams events. */
export function eventResponses(description: string) {
  return {
    '200': { description, content: { 'text/event-stream': { schema: { type: 'string' } } } },
  } as const;
}
