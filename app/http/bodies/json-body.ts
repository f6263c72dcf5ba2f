import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import getRawBody from 'raw-body';
import { AppError } from '../../errors/app-error.ts';
import type { BusyRest } from '../../async/busy-rest.ts';
import { largeTextLength, type HeavyWork, type Steps } from '../../async/heavy-work.ts';
import { createFairSlots } from '../../async/fair-slots.ts';
import { assertContentType } from './content-type.ts';
import { hasRepeatedNames } from './repeated-names.ts';
import { assertSafeText, unusableJson } from './safe-text.ts';

/** Limit on bodies whose fields are all short. */
export const smallBodyBytes = 2 ** 14;
/** Limit on bodies with encrypted metadata, which has 64 KiB. */
export const metadataBodyBytes = 2 ** 17;
/** Limit on any JSON body. */
export const largestBodyBytes = 2 ** 20;

const deadlineMs = 30_000;
/**
 * Number of large bodies of one client that are read and handled at a time. Further large bodies of
 * the client stay unread and use no memory. Their work is done in turns anyway.
 */
export const largeAtOnce = 1;

interface TextOptions {
  /** Refuses a text in which an object has two members of the same name. */
  readonly uniqueNames?: boolean | undefined;
  /** The field that has the text, for the details of an error. */
  readonly path?: string;
}

interface BodyOptions {
  /** Limit on the body in bytes. */
  readonly maxBodyBytes?: number | undefined;
  readonly uniqueNames?: boolean | undefined;
  /** The work may take minutes: it holds no turn of the client while it runs. */
  readonly waitsLong?: boolean | undefined;
}

interface JsonBodiesOptions {
  /** The queue in which large texts are parsed. */
  readonly heavyWork: HeavyWork;
  /** Tells how long the turn of a client stays taken after a large body. */
  readonly restAfter: BusyRest;
}

export type JsonBodies = ReturnType<typeof createJsonBodies>;

/**
 * Creates a reader of JSON texts. Large texts are parsed one at a time and step by step, so that no
 * client delays the responses to other clients for long.
 */
export function createJsonBodies({ heavyWork, restAfter }: JsonBodiesOptions) {
  const turns = createFairSlots({ perKey: largeAtOnce, restAfter });

  /** Parses a text. Throws invalid_json. */
  async function parse(text: string, options: TextOptions): Promise<unknown> {
    const isLarge = text.length > largeTextLength;
    const value = await parseWith(heavyWork.stepsFor(isLarge), text, options);
    // Lets other requests run before the caller goes on with a large value.
    if (isLarge) await setImmediate();
    return value;
  }

  async function parseWith(run: Steps, text: string, options: TextOptions): Promise<unknown> {
    const { uniqueNames = false, path = '' } = options;
    const value = await run(() => parseText(text, path));
    await run(() => assertSafeText(value, path));
    if (uniqueNames && (await run(() => hasRepeatedNames(text, value)))) {
      throw unusableJson('has two members of the same name', path);
    }
    return value;
  }

  async function read(request: IncomingMessage, options: BodyOptions): Promise<unknown> {
    const { maxBodyBytes = smallBodyBytes, uniqueNames } = options;
    return parse(decode(await readBytes(request, maxBodyBytes)), { uniqueNames });
  }

  return {
    /**
     * Parses a JSON text that did not arrive as a body. Large texts of one client take turns with
     * its large bodies. Throws invalid_json.
     */
    parse: (text: string, client: string, options: TextOptions): Promise<unknown> =>
      text.length > largeTextLength
        ? turns.take(client, () => parse(text, options))
        : parse(text, options),

    /**
     * Reads a JSON body in UTF-8, and settles as `work` does with its value. Large bodies of one
     * client take turns. Throws unsupported_media_type, body_too_large, incomplete_body or
     * invalid_json.
     */
    async withBody<T>(
      request: IncomingMessage,
      client: string,
      options: BodyOptions,
      work: (body: unknown) => Promise<T>,
    ): Promise<T> {
      assertContentType(request.headers, 'application/json');
      const { maxBodyBytes = smallBodyBytes, waitsLong = false } = options;
      const length = request.headers['content-length'];
      if (Number(length) > maxBodyBytes) throw tooLarge(maxBodyBytes);
      // A body without Content-Length, whose length is unknown, may be as large as the limit.
      const isSmall = Number(length ?? maxBodyBytes) <= largeTextLength;
      if (isSmall) return work(await read(request, options));
      if (waitsLong) return work(await turns.take(client, () => read(request, options)));
      return turns.take(client, async () => work(await read(request, options)));
    },
  };
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw unusableJson('must be UTF-8; other bytes came', 'body', cause);
  }
}

function parseText(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unusableJson(
      `must be JSON; ${describeFault(text, cause)}`,
      path === '' ? 'body' : path,
      cause,
    );
  }
}

/** Says where a text ceases to be JSON, without repeating any of the text. */
function describeFault(text: string, error: unknown): string {
  if (text.trim() === '') return 'nothing came';
  const { message } = error as Error;
  if (message.includes('end of JSON')) return 'the text ends too early';
  const position = /position (\d+)/.exec(message)?.[1];
  return position === undefined
    ? 'another text came'
    : `it ceases to be JSON at character ${position}`;
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const deadline = setTimeout(() => request.destroy(), deadlineMs);
  try {
    return await getRawBody(request, { limit, length: request.headers['content-length'] ?? null });
  } catch (cause) {
    const type = (cause as { type?: string }).type;
    throw type === 'entity.too.large'
      ? tooLarge(limit, cause)
      : new AppError('incomplete_body', { cause });
  } finally {
    clearTimeout(deadline);
  }
}

function tooLarge(limit: number, cause?: unknown): AppError {
  const details = [{ path: 'body', message: `must be at most ${limit} bytes` }];
  return new AppError('body_too_large', { details, cause });
}
