import { migrate as runMigrations } from '../../db/migrate.ts';
import { parseOptions, requireDatabaseUrl, type Command } from '../command.ts';

export const migrate: Command = {
  usage: `usage: probatio migrate

Brings the database up to date, all or nothing. Safe to run from several places at once.

  DATABASE_OWNER_URL   the login that owns the database
`,
  async run(args) {
    parseOptions(args, {});
    const done = await runMigrations(requireDatabaseUrl('DATABASE_OWNER_URL'));
    return done.length === 0 ? 'nothing to migrate\n' : `ran ${done.join(', ')}\n`;
  },
};
