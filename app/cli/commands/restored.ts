import { recordRestore } from '../../restore/restoration.ts';
import { parseOptions, type Command } from '../command.ts';
import { withServiceDatabase } from '../service-database.ts';

export const restored: Command = {
  usage: `usage: probatio restored

Says that the database was restored from a backup: devices then read everything again and skip nothing,
and for 30 days collect-garbage removes nothing from the object store. It leaves an audit entry. To be
called after every restore, before the app is started (docs/restore.md); once too often does no harm.

  DATABASE_SERVICE_URL   the login of workers
`,
  async run(args) {
    parseOptions(args, {});
    const epoch = await withServiceDatabase(({ db, audit }) =>
      db.asService((tx) => recordRestore(tx, audit)),
    );
    return `cursors are of epoch ${epoch} from now on\n`;
  },
};
