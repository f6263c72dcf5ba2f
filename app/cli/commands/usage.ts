import { lengthy } from '../../db/database.ts';
import { findDrift, repairUsage, type Drift } from '../../usage/drift.ts';
import { parseOptions, type Command } from '../command.ts';
import { withServiceDatabase } from '../service-database.ts';

export const usage: Command = {
  usage: `usage: probatio usage [--repair]

Compares the counters of what each user keeps with the rows that they count, and prints each counter
that differs, by user and tenant. The triggers of the database keep them equal; a difference means
that somebody changed rows without them. Reads every counted row. The app may run.

  --repair   sets the counters that differ to what the rows say

  DATABASE_SERVICE_URL    database URL with the login of the workers, or the path of a file that
                          holds it in DATABASE_SERVICE_URL_FILE
  HTTP_PUBLIC_URL         the vault's URL, by which audit entries name it
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run(args) {
    const { repair = false } = parseOptions(args, { repair: { type: 'boolean' } });
    return withServiceDatabase(async ({ db }) => {
      const drifts = await db.asService(findDrift, lengthy);
      const lines = drifts.map(describe).join('');
      if (drifts.length === 0) return 'every counter is right\n';
      if (!repair) return lines;
      const owners = new Map(drifts.map(({ owner }) => [Object.values(owner).join(' '), owner]));
      for (const owner of owners.values()) {
        await db.asService((tx) => repairUsage(tx, owner), lengthy);
      }
      return `${lines}repaired the counters of ${owners.size} users\n`;
    });
  },
};

function describe({ owner, counter, counted, actual }: Drift): string {
  return `${owner.userId} ${owner.tenantId} ${counter}: ${counted}, but ${actual} in the rows\n`;
}
