import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import getRawBody from 'raw-body';
import { AppError } from '../../errors/app-error.ts';
import { createFairSlots } from '../../async/fair-slots.ts';
import { createTurns } from '../../async/turns.ts';
import { hasRepeatedNames } from './repeated-names.ts';
import { assertSafeText, unusableJson } from './safe-text.ts';

const maxBytes = 2 ** 20;
const deadlineMs = 30_000;

/**
 * Number of bytes above which a body is read and parsed in turns. A smaller body is parsed in less
 * time than it would wait.
 */
const largeBytes = 2 ** 14;
/**
 * Number of large bodies of one client that are read at a time. Further large bodies of the client
 * stay unread and use no memory.
 */
const largeAtOnce = 4;

interface BodyOptions {
  /** Refuses a body in which an object has two members of the same name. */
  readonly uniqueNames?: boolean | undefined;
}

interface JsonBodies {
  /** Returns whether a body is so small that it is read at once. */
  isSmall(request: IncomingMessage): boolean;
  /**
   * Reads a JSON body of at most 1 MiB in UTF-8. Throws unsupported_media_type, body_too_large,
   * incomplete_body or invalid_json.
   */
  read(request: IncomingMessage, client: string, options?: BodyOptions): Promise<unknown>;
}

/**
 * Creates a reader of JSON bodies. A large body waits while several large bodies of the same client
 * are being read, so that one client cannot delay the responses to other clients.
 */
export function createJsonBodies(): JsonBodies {
  const reading = createFairSlots({ perKey: largeAtOnce });
  const parsing = createTurns(1);

  async function readLarge(request: IncomingMessage, options?: BodyOptions): Promise<unknown> {
    const bytes = await readBytes(request);
    return parsing.take(async () => {
      // Lets other pending requests run between two large bodies.
      await setImmediate();
      return parseJson(bytes, options);
    });
  }

  // A body without Content-Length, whose length is unknown, counts as large.
  function isSmall({ headers }: IncomingMessage): boolean {
    return Number(headers['content-length']) <= largeBytes;
  }

  return {
    isSmall,
    async read(request, client, options) {
      assertJsonType(request);
      if (isSmall(request)) return parseJson(await readBytes(request), options);
      return reading.take(client, () => readLarge(request, options));
    },
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
  if (uniqueNames && hasRepeatedNames(text, value))
    throw unusableJson('has two members of the same name');
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
