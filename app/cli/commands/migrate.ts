import { ConfigError } from '../../../signer/protocol/process/config-error.ts';
import { refusalOf } from '../../db/isolation/refusal.ts';
import { migrate as runMigrations } from '../../db/migrate.ts';
import { commandVariables } from '../../config/other-variables.ts';
import { roleSettings } from '../../config/settings/backends.ts';
import { parseOptions, type Command } from '../command.ts';
import { readSettings } from '../variables.ts';

export const migrate: Command = {
  usage: `usage: probatio migrate

Migrates the database to the newest schema, in one transaction. Safe to run concurrently.

  DATABASE_OWNER_URL      database URL with the login that owns the database, or the path of a file
                          that holds it in DATABASE_OWNER_URL_FILE
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run(args) {
    parseOptions(args, {});
    const { ownerUrl } = commandVariables.settings;
    const {
      url,
      appRole: app,
      serviceRole: service,
    } = readSettings({ url: ownerUrl, ...roleSettings });
    const done = await runMigrations(url, { app, service }).catch(explainRefusal);
    return done.length === 0 ? 'nothing to migrate\n' : `ran ${done.join(', ')}\n`;
  },
};

/** Throws ConfigError if Postgres refuses the login for good, and any other error as it is. */
function explainRefusal(error: unknown): never {
  const refusal = refusalOf(error);
  if (refusal === undefined) throw error;
  throw new ConfigError([`DATABASE_OWNER_URL ${refusal}`]);
}
