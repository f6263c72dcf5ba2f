import {
  asAdmin,
  createDatabase,
  type DatabaseAccess,
} from '../../../app/dev/postgres/database.ts';
import { migrate } from '../../../app/dev/postgres/migrate.ts';

/**
 * Creates a migrated database to copy. Nobody can connect to it: a copy would wait until all have
 * left it, and others who want to connect would wait for the copy.
 */
export async function createTemplateDatabase(
  access: DatabaseAccess,
  name: string,
  signal?: AbortSignal,
): Promise<void> {
  await createDatabase(access, name);
  await migrate(access, name, signal);
  await asAdmin(access, (client) =>
    client.query(`ALTER DATABASE ${client.escapeIdentifier(name)} ALLOW_CONNECTIONS false`),
  );
}
