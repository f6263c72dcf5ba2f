import { recordRestore } from '../../restore/restoration.ts';
import { parseOptions, type Command } from '../command.ts';
import { withServiceDatabase } from '../service-database.ts';

export const restored: Command = {
  usage: `usage: probatio restored

Records that the database was restored from a backup. Devices then read all data again, so that
they miss no change, and for 30 days collect-garbage deletes nothing from the object store. Writes
an audit entry. Run it after every restore, before the app starts (docs/restore.md); the command
may be repeated.

  DATABASE_SERVICE_URL    database URL with the login of the workers
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run(args) {
    parseOptions(args, {});
    const epoch = await withServiceDatabase(({ db, audit }) =>
      db.asService((tx) => recordRestore(tx, audit)),
    );
    return `sync cursors now belong to epoch ${epoch}\n`;
  },
};
