import { randomBytes, randomUUID } from 'node:crypto';
import type { AuditEntry } from '../../../signer/protocol/entry.ts';
import { testIssuer } from '../../support/vault/stack.ts';

interface Told extends Pick<AuditEntry, 'id' | 'action' | 'seq' | 'data'> {
  readonly userId: string;
  readonly resource: { readonly type: string; readonly id: string };
}

/** Returns an audit entry as the trail writes it, for a user's action on a resource they own. */
export function inventEntry({ id, action, seq, data, userId, resource }: Told): AuditEntry {
  return {
    v: 2,
    id,
    issuer: testIssuer,
    timestamp: new Date().toISOString(),
    actor: { type: 'user', id: userId },
    tenant: 'default',
    action,
    resource: { ...resource, owner: userId },
    seq,
    outcome: 'success',
    requestId: randomUUID(),
    data,
    salt: randomBytes(32).toString('base64'),
  };
}
