import { migrate as runMigrations } from '../../db/migrate.ts';
import { parseOptions, requireDatabaseUrl, type Command } from '../command.ts';
import { readRoles } from '../database-roles.ts';

export const migrate: Command = {
  usage: `usage: probatio migrate

Migrates the database to the newest schema, in one transaction. Safe to run concurrently.

  DATABASE_OWNER_URL      database URL with the login that owns the database
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run(args) {
    parseOptions(args, {});
    const done = await runMigrations(requireDatabaseUrl('DATABASE_OWNER_URL'), readRoles());
    return done.length === 0 ? 'nothing to migrate\n' : `ran ${done.join(', ')}\n`;
  },
};
