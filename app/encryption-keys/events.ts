import { nobody } from '../audit-trail/event.ts';
import type { Escrow } from './escrow.ts';

/** Actor and owner of every event of an encryption key: these keys belong to no user. */
const byKeys = { actor: { type: 'system', id: 'keys' }, owner: nobody } as const;

const keyOf = (generation: number) => ({ type: 'encryption_key', id: String(generation) }) as const;

/** Returns the event of a generation that a request created. */
export function created(generation: number, requestedBy: string) {
  return {
    ...byKeys,
    action: 'encryption_key.created',
    resource: keyOf(generation),
    data: { generation, requestedBy },
  } as const;
}

/** Returns the event of a derived key that was encrypted for an offline key. */
export function escrowed(generation: number, { publicKey }: Escrow) {
  return {
    ...byKeys,
    action: 'encryption_key.escrowed',
    resource: keyOf(generation),
    data: { generation, escrowKey: publicKey },
  } as const;
}
