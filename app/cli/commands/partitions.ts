import type { Client } from 'pg';
import { ConfigError } from '../../../signer/protocol/process/config-error.ts';
import { attachMonth } from '../../audit/partitions/attach.ts';
import {
  listArchives,
  PartitionRefusal,
  type ArchivedMonth,
} from '../../audit/partitions/archive-rows.ts';
import { detachMonth } from '../../audit/partitions/detach.ts';
import { listPartitions } from '../../audit/partitions/months.ts';
import { tablesOf } from '../../audit/partitions/month-tables.ts';
import type { DatabaseRoles } from '../../db/columns/roles.ts';
import { commandVariables } from '../../config/other-variables.ts';
import { roleSettings } from '../../config/settings/backends.ts';
import { refusalOf } from '../../db/isolation/refusal.ts';
import { describeFailure } from '../../db/migrating/migration-failure.ts';
import { withOwnerSession } from '../../db/migrating/owner-session.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';
import { readSettings } from '../variables.ts';

export const partitions: Command = {
  usage: `usage: probatio partitions list
       probatio partitions detach MONTH
       probatio partitions attach MONTH

Takes a past month of the audit log, with its seals, out of the log so that it can be archived, and
attaches it again, while apps serve: requests wait for it for half a second at most. While a month
is away, its proofs are 410 entry_archived. If it fails or is killed, call it again: it goes on.

  list             prints the months, and which of them are away
  detach MONTH     takes a month, such as 2026-01, out of the log: its tables stay in the database
                   until you drop them (docs/partitions.md)
  attach MONTH     attaches the tables again, unless their rows have changed, and carries out the
                   erasures that became due meanwhile

  DATABASE_OWNER_URL      database URL with the login that owns the database, or the path of a file
                          that holds it in DATABASE_OWNER_URL_FILE; it must lead to Postgres itself
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run([verb = '', ...args]) {
    const work = verbs.get(verb);
    if (work === undefined) {
      throw new UsageError(`use partitions with one of: ${[...verbs.keys()].join(', ')}`);
    }
    const month = verb === 'list' ? undefined : args[0];
    parseOptions(verb === 'list' ? args : args.slice(1), {});
    if (verb !== 'list') assertMonth(month);
    const { ownerUrl } = commandVariables.settings;
    const { url, app, service } = readSettings({
      url: ownerUrl,
      app: roleSettings.appRole,
      service: roleSettings.serviceRole,
    });
    return withOwnerSession(url, async (client) => {
      if (month !== undefined) await assertPast(client, month);
      return work(client, month ?? '', { app, service });
    }).catch(explain);
  },
};

/** Throws ConfigError if Postgres refuses the login for good, or an error of one line. */
function explain(error: unknown): never {
  const isPlain = [ConfigError, UsageError, PartitionRefusal].some((kind) => error instanceof kind);
  if (isPlain) throw error;
  const refusal = refusalOf(error);
  if (refusal !== undefined) throw new ConfigError([`DATABASE_OWNER_URL ${refusal}`]);
  throw new Error(describeFailure(error, 'probatio partitions'), { cause: error });
}

type Verb = (client: Client, month: string, roles: DatabaseRoles) => Promise<string>;

const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ['list', list],
  ['detach', detach],
  ['attach', attach],
]);

function assertMonth(month: string | undefined): void {
  try {
    tablesOf(month ?? '');
  } catch (cause) {
    throw new UsageError('MONTH must be a year and a month such as 2026-01', { cause });
  }
}

/** A clock that lags still makes ids of the month before, so a month is past a day later. */
async function assertPast(client: Client, month: string): Promise<void> {
  const { rows } = await client.query<{ readonly isPast: boolean }>(
    `select $1 < to_char((now() - interval '1 day') at time zone 'UTC', 'YYYY-MM') as "isPast"`,
    [month],
  );
  if (rows[0]?.isPast !== true) {
    throw new UsageError('MONTH must have been over for a day: the log is appended to until then');
  }
}

async function list(client: Client): Promise<string> {
  const archives = new Map((await listArchives(client)).map((each) => [each.month, each]));
  const months = new Set([...(await listPartitions(client)), ...archives.keys()]);
  return [...months]
    .toSorted()
    .map((month) => `${month}  ${describe(archives.get(month))}\n`)
    .join('');
}

function describe(archive: ArchivedMonth | undefined): string {
  if (archive === undefined) return 'attached';
  const { state, detachedAt, attachedAt, note } = archive;
  if (note === undefined) return 'being detached: call probatio partitions detach again';
  if (state === 'ATTACHED') return `attached, since ${attachedAt?.toISOString()} again`;
  return `away since ${detachedAt.toISOString()}, ${note.entries} entries, ${note.seals} seals`;
}

async function detach(client: Client, month: string): Promise<string> {
  const { note, wasAway } = await detachMonth(client, month);
  const { log, seals } = tablesOf(month);
  return `${month} is away${wasAway ? ' already' : ''}: ${note.entries} entries in ${log}, ${
    note.seals
  } seals in ${seals}, SHA-256 ${note.digest.toString('hex')}\n`;
}

async function attach(client: Client, month: string, roles: DatabaseRoles): Promise<string> {
  const erased = await attachMonth(client, month, { roles });
  if (erased === undefined) return `${month} is attached already\n`;
  return `${month} is attached, and ${erased} of its entries were erased\n`;
}
