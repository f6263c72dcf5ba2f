import { decide } from '../../../../app/sync/merge/decision.ts';
import { resolvePatch } from '../../../../app/sync/merge/edits.ts';
import { leavesOf } from '../../../../app/sync/merge/json-pointer.ts';
import { placesOf } from '../../../../app/sync/merge/merge.ts';
import { ruleOf, type Change, type SyncRules } from '../../../../app/sync/merge/rules.ts';
import type { JsonObject } from '../../../../client/sync/objects/json.ts';

interface ModelObject {
  readonly version: number;
  readonly data: JsonObject | null;
  readonly objectType: string | null;
  /** Number of the object's last change among those of all objects. */
  readonly change: number;
  /** The version and the origin of the last change of each place. */
  readonly touched: ReadonlyMap<string, Change & { readonly version: number }>;
}

interface Body {
  readonly objectId: string;
  readonly data?: JsonObject;
  readonly objectType?: string;
  readonly baseVersion?: number;
  readonly delta?: JsonObject;
  readonly changedAt?: string;
}

/**
 * A vault's synchronisation in memory, with the real rules of merging. It makes thousands of short
 * histories possible in the time that a real vault needs for one.
 */
export function createModelVault(rules: SyncRules) {
  const objects = new Map<string, ModelObject>();
  const answers = new Map<string, Response>();
  let changes = 0;

  function write(deviceId: string, body: Body): Response {
    const { objectId } = body;
    if (body.data !== undefined) {
      if (objects.has(objectId)) return refuse('object_exists', {});
      const change = { changedAt: new Date(0), deviceId, version: 1 };
      const touched = new Map(leavesOf(body.data).map((place) => [place, change]));
      const { data, objectType = null } = body;
      return save(objectId, { version: 1, data, objectType, touched });
    }
    const object = objects.get(objectId);
    if (object === undefined) return refuse('not_found', {}, 404);
    const { version, data, objectType } = object;
    const { baseVersion = 0, delta } = body;
    const patch = data === null || delta === undefined ? null : resolvePatch(data, delta);
    const by = { changedAt: new Date(body.changedAt ?? 0), deviceId };
    const places = new Set(data === null ? [] : placesOf(data, patch));
    const since = [...object.touched].filter(
      ([place, change]) => places.has(place) && change.version > baseVersion,
    );
    const decision = decide(
      object,
      { baseVersion, patch },
      { touched: new Map(since), by, ruleOf: (pointer) => ruleOf(rules, objectType, pointer) },
    );
    if ('conflictType' in decision) {
      const { conflictType, fields } = decision;
      const conflict = { status: 'CONFLICT', conflictType, fields, serverVersion: version };
      return refuse('sync_conflict', { ...conflict, serverData: data });
    }
    const next = { ...by, version: version + 1 };
    const touched = new Map(object.touched);
    for (const place of decision.changed ?? []) touched.set(place, next);
    return save(objectId, { version: next.version, data: decision.data, objectType, touched });
  }

  function save(objectId: string, object: Omit<ModelObject, 'change'>): Response {
    changes += 1;
    const saved = { ...object, change: changes };
    objects.set(objectId, saved);
    const view = viewOf(objectId, saved);
    return Response.json({ ...view, status: 'APPLIED' });
  }

  function list(since: number): Response {
    const changed = [...objects].filter(([, { change }]) => change > since);
    const items = changed.map(([objectId, object]) => {
      const { data, ...item } = viewOf(objectId, object);
      return { ...item, ...(data === null && { deleted: true }) };
    });
    const nextCursor = String(Math.max(since, ...changed.map(([, { change }]) => change)));
    return Response.json({ objects: items, nextCursor });
  }

  function get(objectId: string): Response {
    const object = objects.get(objectId);
    if (object === undefined || object.data === null) return refuse('not_found', {}, 404);
    return Response.json(viewOf(objectId, object));
  }

  return {
    /** Answers a request of a device. A write with the id of an earlier one is answered alike. */
    answer(method: string, url: URL, headers: Headers, text: string): Response {
      if (method === 'GET') {
        const { pathname, searchParams } = url;
        if (pathname === '/v1/sync') return list(Number(searchParams.get('since')));
        return get(pathname.split('/')[3] ?? '');
      }
      const requestId = headers.get('x-sync-request-id') ?? '';
      const answer =
        answers.get(requestId) ?? write(headers.get('x-device-id') ?? '', JSON.parse(text) as Body);
      answers.set(requestId, answer);
      return answer.clone();
    },
  };
}

function viewOf(objectId: string, { version, data, change }: ModelObject) {
  return { objectId, version, data, lastModifiedAt: new Date(change).toISOString() };
}

function refuse(code: string, details: object, statusCode = 409): Response {
  const [message, error, timestamp] = ['refused', 'Conflict', new Date(0).toISOString()];
  const path = '/v1/sync';
  const body = { statusCode, message, error, timestamp, path, code, requestId: 'r', ...details };
  return Response.json(body, { status: statusCode });
}
