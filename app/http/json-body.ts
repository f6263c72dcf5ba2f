import type { IncomingMessage } from 'node:http';
import getRawBody from 'raw-body';
import { AppError } from '../errors.ts';
import { hasRepeatedNames } from './repeated-names.ts';
import { assertSafeText, unusableJson } from './safe-text.ts';

const maxBytes = 2 ** 20;
const deadlineMs = 30_000;

/**
 * Reads a JSON body of at most 1 MiB in UTF-8. Throws unsupported_media_type, body_too_large,
 * incomplete_body or invalid_json, with `uniqueNames` also for a name that an object has twice.
 */
export async function readJsonBody(
  request: IncomingMessage,
  { uniqueNames = false }: { readonly uniqueNames?: boolean | undefined } = {},
): Promise<unknown> {
  assertJsonType(request);
  const bytes = await readBytes(request);
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError('invalid_json', { cause });
  }
  assertSafeText(value);
  if (uniqueNames && hasRepeatedNames(text, value)) throw unusableJson('has a name twice');
  return value;
}

function assertJsonType(request: IncomingMessage): void {
  const [type, ...parameters] = (request.headers['content-type'] ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8);
  const isUtf8 = charset === undefined || charset.replaceAll('"', '') === 'utf-8';
  const isPlain = (request.headers['content-encoding'] ?? 'identity') === 'identity';
  if (type !== 'application/json' || !isUtf8 || !isPlain) {
    throw new AppError('unsupported_media_type');
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const deadline = setTimeout(() => request.destroy(), deadlineMs);
  try {
    return await getRawBody(request, {
      limit: maxBytes,
      length: request.headers['content-length'] ?? null,
    });
  } catch (cause) {
    const type = (cause as { type?: string }).type;
    throw new AppError(type === 'entity.too.large' ? 'body_too_large' : 'incomplete_body', {
      cause,
    });
  } finally {
    clearTimeout(deadline);
  }
}
