import { Client } from 'pg';
import type { Vault } from './vault.ts';

/**
 * Runs a statement as the superuser, to inspect the database or to simulate the passing of time or
 * a dead process.
 */
export interface Sql {
  (text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

/**
 * Returns a function that runs each statement on a new connection as the superuser, without
 * row-level security.
 */
export function createSql(vault: Pick<Vault, 'databases'>): Sql {
  return async (text, values = []) => {
    const client = new Client({ connectionString: vault.databases.admin });
    // The event can be ignored: a query on a broken connection fails.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  };
}
