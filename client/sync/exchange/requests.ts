import { z } from 'zod';
import { parseAnswer, type Http, type HttpAnswer } from '../../http/http.ts';
import type { HttpRequest } from '../../http/request.ts';
import { readBodies } from '../../http/pages.ts';
import { isPassing } from '../../http/retry.ts';
import { hasCode, VaultError } from '../../errors/vault-error.ts';
import { Cursor } from './cursor.ts';
import type { ServerClock } from './server-clock.ts';
import type { JsonObject } from '../objects/json.ts';
import { withStatement } from '../statements/statements-member.ts';
import type { QueuedWrite } from '../stores/stored-object.ts';

const routePath = '/v1/sync';
const Data = z.record(z.string(), z.unknown());
/**
 * Schema of a version in the vault's range. Other versions are refused, because they could not be
 * stored and read again.
 */
const Version = z
  .int()
  .positive()
  .max(2 ** 31 - 1);
const Time = z.iso.datetime();

const PageItem = z.object({
  objectId: z.guid(),
  version: Version,
  lastModifiedAt: Time,
  deleted: z.literal(true).optional(),
});
const Page = z.object({
  objects: z.array(PageItem),
  nextCursor: Cursor,
});
export type Page = z.output<typeof Page>;

const View = z.object({ version: Version, data: Data, lastModifiedAt: Time });
const Applied = z.object({ version: Version, data: Data.nullable(), lastModifiedAt: Time });
const Conflicted = z.object({
  status: z.literal('CONFLICT'),
  conflictType: z.enum(['CONCURRENT_MODIFICATION', 'DELETED_ON_SERVER', 'VERSION_AHEAD']),
  serverVersion: Version,
  fields: z.array(z.string()),
  serverData: Data.nullable(),
});
export type Conflicted = z.output<typeof Conflicted>;

/** An entry of an object's history: one write and its outcome. */
const HistoryEntry = z.object({
  id: z.uuid(),
  version: Version,
  baseVersion: z.int().nullable(),
  status: z.enum(['APPLIED', 'CONFLICT']),
  conflictType: z.string().nullable(),
  ruleApplied: z.string().nullable(),
  syncRequestId: z.guid().nullable(),
  deviceId: z.guid(),
  timestamp: Time,
});
export type HistoryEntry = z.output<typeof HistoryEntry>;

const Export = z.object({
  object_id: z.guid(),
  exported_at: Time,
  canonical_version: z.int(),
  data: Data,
  history: z.array(z.object({ version: z.int(), timestamp: Time, device_id: z.guid() })),
});

export type Outcome =
  | ({ readonly kind: 'applied' } & z.output<typeof Applied>)
  | ({ readonly kind: 'conflicted' } & Conflicted)
  | { readonly kind: 'refused'; readonly error: VaultError };

export type SentWrite = QueuedWrite & { readonly request: NonNullable<QueuedWrite['request']> };

/** Returns the http of a session that is bound to a device, with the device's header. */
export function bindToDevice({ send }: Pick<Http, 'send'>, deviceId: string): Pick<Http, 'send'> {
  return {
    send: (request) =>
      send({ ...request, headers: { ...request.headers, 'x-device-id': deviceId } }),
  };
}

/**
 * Creates the requests that read the present states of objects, in a session that is bound to a
 * device; see `bindToDevice`.
 */
export function createObjectReader(http: Pick<Http, 'send'>) {
  return {
    /** Fetches a page of changes after a cursor. */
    async list(since: string): Promise<Page> {
      const { body } = await http.send({ method: 'GET', path: routePath, query: { since } });
      return parseAnswer(Page, body);
    },

    /** Fetches an object. Resolves with undefined if the vault has deleted it. */
    async get(objectId: string): Promise<z.output<typeof View> | undefined> {
      try {
        return await read(http, View, `${routePath}/${objectId}`);
      } catch (error) {
        if (hasCode(error, 'not_found')) return undefined;
        throw error;
      }
    },
  };
}

async function read<T>(
  { send }: Pick<Http, 'send'>,
  schema: z.ZodType<T>,
  path: string,
): Promise<T> {
  return parseAnswer(schema, (await send({ method: 'GET', path })).body);
}

export type SyncRequests = ReturnType<typeof createSyncRequests>;

/**
 * Creates the requests for synchronised objects. Every method throws errors that do not concern a
 * single write, such as network_error, session_ended, a refused device or a status 5xx.
 */
export function createSyncRequests({
  http,
  deviceId,
  schemaVersion,
  clock,
}: {
  readonly http: Http;
  readonly deviceId: string;
  readonly schemaVersion: number;
  readonly clock: ServerClock;
}) {
  const bound = bindToDevice(http, deviceId);

  async function send(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await bound.send(request);
    clock.learn(answer.headers.get('date'));
    return answer;
  }

  return {
    ...createObjectReader({ send }),

    /**
     * Sends a write and resolves with its outcome. Idempotent: the vault applies a request with the
     * same id once.
     */
    async write(objectId: string, write: SentWrite): Promise<Outcome> {
      const headers = {
        'x-schema-version': String(schemaVersion),
        'x-sync-request-id': write.request.id,
      };
      const path = write.kind === 'create' ? `${routePath}/create` : routePath;
      const json = bodyOf(objectId, deviceId, write);
      try {
        const { body } = await send({ method: 'POST', path, headers, json, repeatable: true });
        return { kind: 'applied', ...parseAnswer(Applied, body) };
      } catch (error) {
        return toOutcome(error);
      }
    },

    /** Yields the history of an object, oldest entry first. Throws VaultError 404 not_found. */
    async *history(objectId: string): AsyncGenerator<HistoryEntry, void, void> {
      const History = z.object({ history: z.array(HistoryEntry) });
      const path = `${routePath}/${objectId}/history`;
      for await (const body of readBodies({ send }, { method: 'GET', path })) {
        yield* parseAnswer(History, body).history;
      }
    },

    /** Fetches an object with its versions. Throws VaultError 404 not_found. */
    export: (objectId: string): Promise<z.output<typeof Export>> =>
      read({ send }, Export, `${routePath}/${objectId}/export`),
  };
}

function bodyOf(objectId: string, deviceId: string, write: SentWrite): object {
  const { statement } = write.request;
  const stated = (data: JsonObject) =>
    statement === undefined ? data : withStatement(data, deviceId, statement);
  if (write.kind === 'create') {
    const { data, objectType } = write;
    return { objectId, data: stated(data), ...(objectType !== undefined && { objectType }) };
  }
  const { baseVersion } = write;
  return {
    objectId,
    version: baseVersion + 1,
    baseVersion,
    ...(write.kind === 'change' ? { delta: stated(write.delta) } : { deleted: true }),
    changedAt: new Date(write.request.changedAt).toISOString(),
  };
}

/** Converts an error that concerns the write itself to an outcome; throws every other error. */
function toOutcome(error: unknown): Outcome {
  if (!(error instanceof VaultError) || !isOfWrite(error)) throw error;
  if (error.code !== 'sync_conflict') return { kind: 'refused', error };
  return { kind: 'conflicted', ...parseAnswer(Conflicted, error.body) };
}

function isOfWrite(error: VaultError): boolean {
  const { status, code } = error;
  if (isPassing(error) || status < 400 || status >= 500) return false;
  if (status === 401 || status === 403 || status === 408) return false;
  return code !== 'schema_version_unsupported' && (status === 413 || !code.startsWith('http_'));
}
