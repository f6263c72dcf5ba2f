import { randomBytes, randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AuditEntry } from '../../signer/protocol/entry.ts';
import type { EntryToSeal } from '../../signer/protocol/protocol.ts';
import { testIssuer } from '../support/vault/stack.ts';

export function sampleEntry(change: Partial<AuditEntry> = {}): AuditEntry {
  const owner = randomUUID();
  return {
    v: 2,
    id: randomUUID(),
    issuer: testIssuer,
    timestamp: new Date().toISOString(),
    actor: { type: 'user', id: owner },
    tenant: 'default',
    action: 'document.certify',
    resource: { type: 'document', id: randomUUID(), owner },
    seq: 1,
    outcome: 'success',
    requestId: randomUUID(),
    data: { fileHash: 'aé€😀', size: 1 },
    salt: randomBytes(32).toString('base64'),
    ...change,
  };
}

/** Returns the canonical text of any value, including those that the signer must refuse. */
export function canonicalText(value: unknown): string {
  return canonicalize(value) ?? '';
}

export function sampleText(change: Partial<AuditEntry> = {}): EntryToSeal {
  const entry = sampleEntry(change);
  return { id: entry.id, text: canonicalText(entry) };
}
