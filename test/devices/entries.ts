import { createSql } from '../support/vault/sql.ts';
import type { Vault } from '../support/vault/vault.ts';

/** Returns actions and data of the entries of a device, oldest first. */
export async function entriesOf(vault: Vault, deviceId: string) {
  const rows = await createSql(vault)(
    `select seq, canonical from audit_entries
     where resource_type = 'device' and resource_id = $1 order by seq`,
    [deviceId],
  );
  return rows.map(({ seq, canonical }) => {
    const { action, data } = JSON.parse(String(canonical)) as { action: string; data: object };
    return { seq: Number(seq), action, data };
  });
}
