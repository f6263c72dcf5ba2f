import type { Client } from 'pg';

/** Stores made-up seals, of the size of true ones, for all entries that wait. */
export async function pretendAllSealed(client: Client): Promise<void> {
  await client.query(
    `with sealed as (delete from audit_queue returning entry_id)
     insert into audit_seals (entry_id, hash, signature, key_id, sealed_at, late)
     select entry_id, sha256(entry_id::text::bytea), decode(repeat('00', 71), 'hex'),
       sha256('key'), now(), false
     from sealed`,
  );
}
