import type { Client } from 'pg';

/** An index that is built while others write its table. */
interface ConcurrentIndex {
  readonly unique: string;
  readonly name: string;
  readonly table: string;
  /** The text after the name of the table: columns, and all else that is said of the index. */
  readonly definition: string;
}

const form = new RegExp(
  String.raw`^\s*create\s+(unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(\w+)` +
    String.raw`\s+on\s+(?:public\.)?(\w+)\b(.*)$`,
  'is',
);

/** Bytes of the longest name that Postgres does not cut off. */
const longestName = 63;

function read(statement: string): ConcurrentIndex | undefined {
  const [, unique = '', name, table, definition = ''] = form.exec(statement) ?? [];
  if (name === undefined || table === undefined) return undefined;
  return { unique, name, table, definition };
}

/**
 * Yields the statements that a migration runs outside of a transaction for one of its own, each
 * once the one before has run. `create index concurrently` yields nothing if the index is there,
 * and drops one that a kill left half built. Postgres refuses it for a partitioned table, where it
 * becomes an index of the parent, one that is built concurrently on each partition, and their
 * attachment. Any other statement is yielded as it is.
 */
export async function* expandStatement(client: Client, statement: string): AsyncGenerator<string> {
  const index = read(statement);
  if (index === undefined) {
    yield statement;
  } else if (await isPartitioned(client, index.table)) {
    yield* onPartitions(client, index);
  } else {
    yield* build(client, index.name, statement);
  }
}

async function* onPartitions(client: Client, index: ConcurrentIndex): AsyncGenerator<string> {
  const { unique, name, table, definition } = index;
  yield `create ${unique}index if not exists ${name} on only ${table}${definition}`;
  // Partitions may be made and detached meanwhile, so each is looked up after the one before.
  for (;;) {
    const partition = await partitionWithout(client, index);
    if (partition === undefined) return;
    const own = nameOn(partition, index);
    const statement = `create ${unique}index concurrently ${own} on ${partition}${definition}`;
    yield* build(client, own, statement);
    yield `alter index ${name} attach partition ${own}`;
  }
}

/** Names the index of a partition, such as `log_2026_01_action` for `log_action` of `log`. */
function nameOn(partition: string, { name, table }: ConcurrentIndex): string {
  const own = `${partition}_${name.startsWith(`${table}_`) ? name.slice(table.length + 1) : name}`;
  if (own.length > longestName) throw new RangeError(`the name of the index ${own} is too long`);
  return own;
}

async function isPartitioned(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ readonly isPartitioned: boolean }>(
    `select relkind = 'p' as "isPartitioned" from pg_class where oid = to_regclass($1)`,
    [`public.${table}`],
  );
  return rows[0]?.isPartitioned === true;
}

/** Returns a partition that has no part of the index; undefined if the index is whole. */
async function partitionWithout(
  client: Client,
  { name, table }: ConcurrentIndex,
): Promise<string | undefined> {
  const { rows } = await client.query<{ readonly partition: string }>(
    `select c.relname::text as partition
     from pg_inherits h join pg_class c on c.oid = h.inhrelid
     where h.inhparent = to_regclass($1) and not h.inhdetachpending and not exists (
       select from pg_index i join pg_inherits a on a.inhrelid = i.indexrelid
       where i.indrelid = c.oid and a.inhparent = to_regclass($2))
     order by c.relname limit 1`,
    [`public.${table}`, `public.${name}`],
  );
  return rows[0]?.partition;
}

async function* build(client: Client, index: string, statement: string): AsyncGenerator<string> {
  const { rows } = await client.query<{ readonly isValid: boolean }>(
    'select indisvalid as "isValid" from pg_index where indexrelid = to_regclass($1)',
    [`public.${index}`],
  );
  if (rows[0]?.isValid === true) return;
  if (rows[0]?.isValid === false) yield `drop index concurrently ${index}`;
  yield statement;
}
