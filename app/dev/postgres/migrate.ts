import { databaseUrls, type DatabaseAccess } from './database.ts';
import { runGuarded } from '../processes/guarded-process.ts';
import { inheritedEnvironment, nodeProcess } from '../processes/node-process.ts';

/** Migrates a database to the newest schema. Throws with the output of the command if it fails. */
export async function migrate(
  access: DatabaseAccess,
  database: string,
  signal?: AbortSignal,
): Promise<void> {
  const spec = nodeProcess('migrate', ['app/cli.ts', 'migrate'], {
    ...inheritedEnvironment(),
    DATABASE_OWNER_URL: databaseUrls(access, database).owner,
  });
  await runGuarded(spec, signal);
}
