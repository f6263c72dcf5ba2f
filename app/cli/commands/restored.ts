import { z } from 'zod';
import { acceptMark } from '../../restore/acceptances.ts';
import { recordRestore } from '../../restore/restoration.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';
import { withServiceDatabase } from '../service-database.ts';

const Mark = z.guid().toLowerCase();

export const restored: Command = {
  usage: `usage: probatio restored [--accept MARK]

Records that the database was restored from a backup. Devices then read all data again, so that
they miss no change, and for 30 days collect-garbage deletes nothing from the object store. Writes
an audit entry. Run it after every restore, before the app starts (docs/restore.md); the command
may be repeated.

  --accept MARK   accepts instead what a start refuses that names this high-water mark, because
                  no newer backup exists. What is missing is then lost for good, and the next start
                  records it in the audit log. Good for one restore: it ends with the next mark

  DATABASE_SERVICE_URL    database URL with the login of the workers, or the path of a file that
                          holds it in DATABASE_SERVICE_URL_FILE
  HTTP_PUBLIC_URL         the vault's URL, by which audit entries name it
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run(args) {
    const { accept } = parseOptions(args, { accept: { type: 'string' } });
    return accept === undefined ? record() : storeAcceptance(accept);
  },
};

async function record(): Promise<string> {
  const epoch = await withServiceDatabase(({ db, audit }) =>
    db.asService((tx) => recordRestore(tx, audit)),
  );
  return `sync cursors now belong to epoch ${epoch}\n`;
}

async function storeAcceptance(given: string): Promise<string> {
  const mark = Mark.safeParse(given);
  if (!mark.success) {
    throw new UsageError('--accept must be the id of the mark that the refused start names');
  }
  await withServiceDatabase(({ db }) => db.asService((tx) => acceptMark(tx, mark.data)));
  return `the next start that names mark ${mark.data} is accepted: start the app\n`;
}
