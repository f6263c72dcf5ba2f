import type { RequestEvent } from '../audit-trail/event.ts';
import type { EnvelopeRow } from './rows.ts';

/** Returns the event of an envelope that its owner created, replaced, removed or restored. */
export function envelopeEvent(
  action: 'envelope.created' | 'envelope.replaced' | 'envelope.removed' | 'envelope.restored',
  { id, kind, version, device_id: deviceId }: EnvelopeRow,
): RequestEvent {
  return {
    action,
    resource: { type: 'envelope', id },
    data: { kind, version, ...(deviceId === null ? {} : { deviceId }) },
  };
}
