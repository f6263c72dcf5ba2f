import { Client } from 'pg';

const connectMs = 10_000;

/** Facts about the session of the owner, and about the server behind it. */
interface SessionFacts {
  readonly pid: number;
  readonly readsAll: boolean;
  readonly isReadOnly: boolean;
  readonly mayCreate: boolean;
}

/**
 * Runs `work` on a connection of the owner, on which statements fail instead of skipping rows that
 * row-level security hides. Throws an error of one line if the login may not migrate, a pooler
 * stands before Postgres, or the database is read-only.
 */
export async function withOwnerSession<T>(
  ownerUrl: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({
    connectionString: ownerUrl,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    options: '-c row_security=off',
  });
  // The event can be ignored: the statement on a broken connection fails and throws the error.
  client.on('error', () => undefined);
  // Postgres numbers its processes, and a pooler answers with a number of its own.
  let announcedPid: number | undefined;
  client.connection.once('backendKeyData', ({ processID }: { readonly processID: number }) => {
    announcedPid = processID;
  });
  try {
    await client.connect();
    await assertFits(client, announcedPid);
    return await work(client);
  } finally {
    // The server may hang, and an orderly end would wait for it.
    client.connection.stream.destroy();
  }
}

async function assertFits(client: Client, announcedPid: number | undefined): Promise<void> {
  const { rows } = await client.query<SessionFacts>(
    `select pg_backend_pid() as pid, current_setting('row_security') = 'off' as "readsAll",
       pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as "isReadOnly",
       has_schema_privilege('public', 'create') as "mayCreate"`,
  );
  const facts = rows[0];
  if (facts === undefined) throw new TypeError('Postgres does not describe the session');
  if (!facts.readsAll || facts.pid !== announcedPid) throw new Error(behindPooler);
  if (facts.isReadOnly) throw new Error(readOnly);
  if (!facts.mayCreate) throw new Error(notOwner);
}

export const behindPooler =
  'DATABASE_OWNER_URL names a pooler, which keeps no session: name Postgres itself';
const notOwner =
  'DATABASE_OWNER_URL names a role that may not create tables: name the owner of the database';
export const readOnly =
  'the database is read-only: name the primary in DATABASE_OWNER_URL, or let it be written';
