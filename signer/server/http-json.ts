import type { IncomingMessage, ServerResponse } from 'node:http';
import getRawBody from 'raw-body';
import type { z } from 'zod';
import { maxBodyBytes } from '../protocol/protocol.ts';
import { SignerRefused } from '../protocol/signer-error.ts';

/**
 * Reads and parses the body of a request. Throws SignerRefused `invalid_request` or
 * `payload_too_large`.
 */
export async function readBody<Schema extends z.ZodType>(
  req: IncomingMessage,
  schema: Schema,
): Promise<z.output<Schema>> {
  const result = schema.safeParse(parseJson(await readText(req)));
  if (result.success) return result.data;
  const fields = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.code}`);
  throw new SignerRefused('invalid_request', `the body is not valid: ${fields.join(', ')}`);
}

export function sendJson(res: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  res
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    })
    .end(text);
}

async function readText(req: IncomingMessage): Promise<string> {
  try {
    return await getRawBody(req, {
      limit: maxBodyBytes,
      length: req.headers['content-length'],
      encoding: 'utf8',
    });
  } catch (cause) {
    if (cause instanceof Error && 'type' in cause && cause.type === 'entity.too.large')
      throw new SignerRefused('payload_too_large', `the body has more than ${maxBodyBytes} bytes`, {
        cause,
      });
    throw new SignerRefused('invalid_request', 'the body is truncated', { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new SignerRefused('invalid_request', 'the body is not JSON', { cause });
  }
}
