import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import getRawBody from 'raw-body';
import { AppError } from '../../errors/app-error.ts';
import { createKeyedTurns, createTurns } from '../../async/turns.ts';
import { hasRepeatedNames } from './repeated-names.ts';
import { assertSafeText, unusableJson } from './safe-text.ts';

const maxBytes = 2 ** 20;
const deadlineMs = 30_000;

/** What is smaller is read and parsed sooner than it would get its turn. */
const largeBytes = 2 ** 14;
/** Of one client. The others are not read meanwhile, and so take up no memory. */
const largeAtOnce = 4;

interface BodyOptions {
  /** A name that an object has twice is refused. */
  readonly uniqueNames?: boolean | undefined;
}

/**
 * Reads a JSON body of at most 1 MiB in UTF-8. Throws unsupported_media_type, body_too_large,
 * incomplete_body or invalid_json.
 */
type ReadJsonBody = (
  request: IncomingMessage,
  client: string,
  options?: BodyOptions,
) => Promise<unknown>;

/** Large bodies wait for those before them, so that however many one client sends, the others are answered. */
export function createJsonBodies(): ReadJsonBody {
  const reading = createKeyedTurns(largeAtOnce);
  const parsing = createTurns(1);

  async function readLarge(request: IncomingMessage, options?: BodyOptions): Promise<unknown> {
    const bytes = await readBytes(request);
    return parsing.take(async () => {
      // What else has come in is seen to between one and the next.
      await setImmediate();
      return parseJson(bytes, options);
    });
  }

  return async function readJsonBody(request, client, options) {
    assertJsonType(request);
    // One of unknown length has no such header.
    const isSmall = Number(request.headers['content-length']) <= largeBytes;
    if (isSmall) return parseJson(await readBytes(request), options);
    return reading.take(client, () => readLarge(request, options));
  };
}

function parseJson(bytes: Buffer, { uniqueNames = false }: BodyOptions = {}): unknown {
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
