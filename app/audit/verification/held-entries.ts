import type { Database } from '../../db/database.ts';
import type { AuditProof } from '../../proof/proof.ts';

/**
 * Returns when the vault stored the entry of a proof; undefined unless the vault holds this very
 * entry, byte for byte, sealed by the key of the proof. The hash stands for the bytes, also of an
 * entry whose text was erased.
 */
export async function findHeldSince(
  db: Database,
  { id, entryHash, hsmKeyId }: AuditProof,
): Promise<Date | undefined> {
  const entry = await db.asService((tx) =>
    tx
      .selectFrom('audit_entries')
      .select('created_at')
      .where('id', '=', id)
      .where('state', '=', 'SEALED')
      .where('hash', '=', entryHash)
      .where('key_id', '=', hsmKeyId)
      .executeTakeFirst(),
  );
  return entry?.created_at;
}
