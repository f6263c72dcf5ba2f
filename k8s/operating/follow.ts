import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { RecordEvent } from '../cluster/events.ts';
import type { CustomResource, Resources } from '../cluster/resources.ts';
import type { Decision } from '../conditions/decision.ts';

/** The options that all passes share. */
export interface PassOptions {
  readonly resources: Pick<Resources, 'applyStatus'>;
  readonly recordEvent: RecordEvent;
  /** Asked directly before anything is changed. */
  readonly isLeader: () => boolean;
  readonly log: Logger;
}

/** When a pass must be repeated: at once, since something was changed, or at an instant. */
export type Again = 'soon' | Date | undefined;

/**
 * Follows a decision: writes the status if it differs, records the events, then carries out the
 * action. Changes nothing unless this process leads, nor after it wrote a status that was not
 * accepted, since the resource is another one by now.
 */
export async function follow<R extends CustomResource, Action>(
  resource: R,
  { status, action, events, wakeAt }: Decision<NonNullable<R['status']>, Action>,
  carryOut: (action: Action) => Promise<void>,
  { resources, recordEvent, isLeader, log }: PassOptions,
): Promise<Again> {
  const isChanged = !isDeepStrictEqual(plain(status), plain(resource.status));
  if (isChanged) {
    if (!isLeader() || !(await resources.applyStatus(resource, status))) return 'soon';
    for (const note of events) {
      // An event that is lost does no harm: the condition says the same.
      await recordEvent(resource, note).catch((error: unknown) =>
        log.warn({ err: error }, 'an event could not be recorded'),
      );
    }
  }
  if (action === undefined) return isChanged ? 'soon' : wakeAt;
  if (!isLeader()) return 'soon';
  log.info({ resource: resource.metadata.name, action }, 'acting');
  await carryOut(action);
  return 'soon';
}

/** Returns a value as JSON keeps it, without members that are undefined. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
