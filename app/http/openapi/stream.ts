import { z } from 'zod';

const binary = { type: 'string', format: 'binary' } as const;

/** Content of requests and responses that consist of bytes. */
export const octets = { 'application/octet-stream': { schema: binary } };

/** Headers of a request for bytes. */
export const rangeHeaders = {
  Range: z
    .string()
    .optional()
    .describe('One range of bytes. A request for several ranges gets the whole file.'),
  'If-Range': z
    .string()
    .optional()
    .describe('The ETag of the file of which the range is requested.'),
  'If-Match': z.string().optional().describe('Refuses with 412 unless the file has this ETag.'),
  'If-None-Match': z.string().optional().describe('Answers 304 if the file has this ETag.'),
};

const cached = {
  ETag: z.string().describe('The SHA3-256 of the file in quotes.'),
  'Accept-Ranges': z.literal('bytes').describe('Ranges of bytes can be requested.'),
};

const sent = {
  ...cached,
  'Content-Disposition': z.string().describe('The name of the file (RFC 6266).'),
};

const contentRange = z.string().describe('The range that is sent: `bytes <first>-<last>/<size>`.');

/** Describes the responses of a route that streams bytes. */
export function streamedResponses(description: string) {
  return {
    '200': { description, headers: sent, content: octets },
    '206': {
      description: 'The requested range',
      headers: { ...sent, 'Content-Range': contentRange },
      content: octets,
    },
    '304': { description: 'Not modified: the copy of the client is current', headers: cached },
  };
}

/** Describes the responses to HEAD of a route that streams bytes: the headers of the whole file. */
export function headResponses(description: string) {
  return {
    '200': { description: `${description}: only the headers`, headers: sent },
    '304': { description: 'Not modified: the copy of the client is current', headers: cached },
  };
}

/** Describes the response of a route that streams events. */
export function eventResponses(description: string) {
  const schema = {
    type: 'string',
    description:
      'Server-sent events: `ready`, `change` with a JSON object {objectId, version, deleted, ' +
      'deviceId}, and `close` with the reason.',
  } as const;
  return { '200': { description, headers: {}, content: { 'text/event-stream': { schema } } } };
}
