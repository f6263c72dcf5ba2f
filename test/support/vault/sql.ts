import { Client } from 'pg';
import type { TestVault } from './vault.ts';

/** What the database knows, and what only time or a dead process would do to it. */
export interface Sql {
  (text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

/** One statement on a connection of its own, as the superuser: no row-level security. */
export function createSql(vault: Pick<TestVault, 'databases'>): Sql {
  return async (text, values = []) => {
    const client = new Client({ connectionString: vault.databases.admin });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  };
}
