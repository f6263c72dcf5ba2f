import { sql } from 'kysely';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Database } from '../db/database.ts';

/** Returns how to ask Postgres and the signer for the present time. */
export function readClocks(db: Database, signer: Pick<SignerClient, 'health'>) {
  return {
    database: () => readDatabaseClock(db),
    signer: async () => new Date((await signer.health()).time),
  };
}

export async function readDatabaseClock(db: Database): Promise<Date> {
  const { rows } = await db.asService((tx) =>
    sql<{ readonly time: Date }>`select clock_timestamp() as time`.execute(tx),
  );
  const [row] = rows;
  if (row === undefined) throw new TypeError('Postgres returned no time');
  return row.time;
}
