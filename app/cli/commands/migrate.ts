import { migrate as runMigrations } from '../../db/migrate.ts';
import { roleSettings } from '../../config/settings/backends.ts';
import { parseOptions, readVariable, requireDatabaseUrl, type Command } from '../command.ts';

export const migrate: Command = {
  usage: `usage: probatio migrate

Migrates the database to the newest schema, in one transaction. Safe to run concurrently.

  DATABASE_OWNER_URL      database URL with the login that owns the database
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run(args) {
    parseOptions(args, {});
    const { appRole, serviceRole } = roleSettings;
    const done = await runMigrations(requireDatabaseUrl('DATABASE_OWNER_URL'), {
      app: readVariable(appRole.variable, appRole.schema),
      service: readVariable(serviceRole.variable, serviceRole.schema),
    });
    return done.length === 0 ? 'nothing to migrate\n' : `ran ${done.join(', ')}\n`;
  },
};
