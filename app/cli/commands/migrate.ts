import { migrate as runMigrations } from '../../db/migrate.ts';
import { parseOptions, requireDatabaseUrl, type Command } from '../command.ts';

export const migrate: Command = {
  usage: `usage: probatio migrate

Migrates the database to the newest schema, in one transaction. Safe to run concurrently.

  DATABASE_OWNER_URL   database URL with the login that owns the database
`,
  async run(args) {
    parseOptions(args, {});
    const done = await runMigrations(requireDatabaseUrl('DATABASE_OWNER_URL'));
    return done.length === 0 ? 'nothing to migrate\n' : `ran ${done.join(', ')}\n`;
  },
};
