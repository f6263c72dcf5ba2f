import type { EventData, RequestEvent } from '../../audit-trail/event.ts';
import type { InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { byKeys } from './key-registration.ts';
import type { KeyRow } from './key-rows.ts';

type Request = ServiceRequest<InternalCaller>;
type KeyAction = 'key.activated' | 'key.retired' | 'key.compromised';

/** Why a predecessor could not vouch for its successor; both absent in an ordinary rotation. */
export interface Circumstance {
  readonly predecessorLost?: boolean;
  readonly predecessorCompromised?: boolean;
}

/** Returns the event of a key that is active from an instant on, in place of its predecessor. */
export function activated(
  request: Request,
  key: KeyRow,
  at: Date,
  {
    predecessor,
    predecessorLost = false,
    predecessorCompromised = false,
  }: Circumstance & { readonly predecessor: KeyRow | undefined },
): RequestEvent<'key.activated'> {
  return eventOf('key.activated', key, {
    ...common(request, key, at),
    predecessor: predecessor?.key_id ?? null,
    ...(predecessorLost ? { predecessorLost } : {}),
    ...(predecessorCompromised ? { predecessorCompromised } : {}),
  });
}

interface Retirement {
  /** The id of the key that takes its place; null for a key that was never active. */
  readonly successor: string | null;
  /** Whether the token does not hold the key. */
  readonly isLost: boolean;
}

/** Returns the event of a key that signs nothing from an instant on. */
export function retired(
  request: Request,
  key: KeyRow,
  at: Date,
  { successor, isLost }: Retirement,
): RequestEvent<'key.retired'> {
  return eventOf('key.retired', key, {
    ...common(request, key, at),
    successor,
    ...(isLost ? { lost: true } : {}),
  });
}

interface Compromise extends Retirement {
  /** The instant since which somebody else may have the key. */
  readonly since: Date;
  /** The id of the entry. */
  readonly entryId: string;
}

/** Returns the event of a key that somebody else may have; another key signs its entry. */
export function compromised(
  request: Request,
  key: KeyRow,
  at: Date,
  { since, successor, isLost, entryId }: Compromise,
): RequestEvent<'key.compromised'> {
  const event = eventOf('key.compromised', key, {
    ...common(request, key, at),
    since: since.toISOString(),
    successor,
    ...(isLost ? { lost: true } : {}),
  });
  return { ...event, entryId };
}

function common({ caller }: Request, { purpose }: KeyRow, at: Date) {
  return { requestedBy: caller.internalKey, purpose, at: at.toISOString() };
}

function eventOf<Action extends KeyAction>(
  action: Action,
  { key_id: id }: KeyRow,
  data: EventData<Action>,
) {
  return { ...byKeys, action, resource: { type: 'key', id } as const, data };
}
