import { byOwner, type AuditEvent } from '../trail/event.ts';
import type { Owner } from '../db/database.ts';
import type { EnvelopeRow } from './rows.ts';

/** What is recorded of an envelope that was created, replaced or removed. */
export function envelopeEvent(
  action: 'envelope.created' | 'envelope.replaced' | 'envelope.removed',
  { id, kind, version, device_id: deviceId }: EnvelopeRow,
  owner: Owner,
  requestId: string,
): AuditEvent {
  return {
    action,
    ...byOwner(owner, requestId),
    resource: { type: 'envelope', id },
    data: { kind, version, ...(deviceId === null ? {} : { deviceId }) },
  };
}
