import { z } from 'zod';
import { describeError, errorCodes, type ErrorCode } from '../../errors/error-codes.ts';
import { timestampText } from '../bodies/wire.ts';

const meanings = Object.fromEntries(errorCodes.map((code) => [code, describeError(code).message]));

const ErrorCodeName = z.enum(errorCodes).meta({
  id: 'ErrorCode',
  description: [
    'Codes of errors. They are stable; new ones may be added.',
    ...errorCodes.map((code) => `- \`${code}\` (${describeError(code).status}): ${meanings[code]}`),
  ].join('\n'),
  'x-enumDescriptions': meanings,
});

const ErrorDetail = z
  .strictObject({
    path: z.string().describe('The field, header or limit that is wrong.'),
    message: z.string().describe('What it must be.'),
  })
  .meta({ id: 'ErrorDetail' });

/** The body of every error response. */
export const ErrorBody = z
  .strictObject({
    statusCode: z.int().min(400).max(599).describe('The status of the response.'),
    message: z.string().describe('What is wrong and what to do. It never repeats input.'),
    error: z.string().describe('The phrase of the status.'),
    timestamp: timestampText.describe('When the response was made.'),
    path: z.string().describe('The path of the request; empty if the request had none.'),
    code: ErrorCodeName.describe('The code; branch on it, not on `message`.'),
    requestId: z.string().describe('The X-Request-Id of the response; name it in reports.'),
    details: z.array(ErrorDetail).optional().describe('Single faults, where there are any.'),
  })
  .meta({ id: 'ApiError', description: 'The body of error responses.' });

/** Returns the schema of an error body that has more members. */
export function errorWith(code: ErrorCode, members: z.ZodObject): z.ZodObject {
  const name = code.replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
  return z
    .strictObject({
      ...ErrorBody.shape,
      code: z.literal(code).describe('The code of this error.'),
      ...members.shape,
    })
    .meta({ id: `${name}Error`, description: describeError(code).message });
}
