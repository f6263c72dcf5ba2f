import type { ObjectLook } from '../../memory/values/object-look.ts';
import type { LocalObjects } from '../stores/local-objects.ts';
import { identifyNewest } from './statements-member.ts';

/** Returns the present states of objects, for the memory. */
export function statesOf(
  local: Pick<LocalObjects, 'find'>,
  objectIds: Iterable<string>,
): Parameters<ObjectLook['saw']>[0] {
  const states = [...objectIds].flatMap((objectId) => {
    const server = local.find(objectId)?.server ?? null;
    if (server === null) return [];
    const statements = identifyNewest(server.statements);
    return [
      [
        objectId,
        server.data === null ? { statements, deleted: true as const } : { statements },
      ] as const,
    ];
  });
  return Object.fromEntries(states);
}
