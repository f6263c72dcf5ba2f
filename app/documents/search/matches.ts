import { sql, type RawBuilder } from 'kysely';
import { MAX } from 'uuid';

export interface Wanted {
  /** Keyword hashes which a document must all have. */
  readonly all: readonly string[];
  /** Keyword hashes of which a document must have at least one, unless the list is empty. */
  readonly any: readonly string[];
}

interface Page {
  readonly limit: number;
  /** The place of the last document on the previous page; only those after it match. */
  readonly cursor?: string | undefined;
}

type Matches = RawBuilder<{ readonly place: string }>;

/**
 * Selects the places of a user's documents that match the keywords, newest first. The SQL
 * prescribes how Postgres reads the index, because its planner would choose a nested loop over the
 * documents of two keywords: it estimates only one document for each keyword of a user.
 */
export function selectMatches(
  userId: string,
  { all, any }: Wanted,
  { limit, cursor = MAX }: Page,
): Matches {
  // A matching document has at least one keyword of every group.
  const groups = [...new Set(all)].map((hash) => [hash]);
  if (any.length > 0) groups.push([...new Set(any)]);
  const [first = [], ...others] = groups;
  return others.length === 0
    ? selectUnion(userId, first, { limit, cursor })
    : selectIntersection(userId, groups, { limit, cursor });
}

/**
 * Selects documents with at least one of the keywords, by merging the newest documents of each
 * keyword.
 */
function selectUnion(userId: string, hashes: readonly string[], page: Required<Page>): Matches {
  return sql`
    select distinct newest.place
    from unnest(${hashes}::text[]) as keyword (hash)
    cross join lateral (
      select place from document_keywords
      where user_id = ${userId}::uuid and keyword_hash = keyword.hash
        and place < ${page.cursor}::uuid
      order by place desc limit ${page.limit}
    ) as newest
    order by newest.place desc limit ${page.limit}`;
}

/**
 * Selects documents that have a keyword of every group. The groups take turns: each group looks up
 * its newest document at the place that the previous group found, or after it. A document that all
 * groups find in succession is a match. A rare keyword thus lets the other groups skip documents,
 * and only the index entries that one page needs are read.
 */
function selectIntersection(
  userId: string,
  groups: readonly (readonly string[])[],
  page: Required<Page>,
): Matches {
  const keywords = groups.flatMap((hashes, turn) => hashes.map((hash) => ({ turn, hash })));
  const turns = keywords.map(({ turn }) => turn);
  const hashes = keywords.map(({ hash }) => hash);
  const count = groups.length;
  return sql`
    with recursive walk (place, turn, agreed, found) as (
      select ${page.cursor}::uuid, 0, ${count}::int, 0
      union all
      select next.place, (walk.turn + 1) % ${count}, next.agreed,
        walk.found + (next.agreed = ${count})::int
      from walk
      cross join lateral (
        select newest.place,
          case when newest.place = walk.place then walk.agreed + 1 else 1 end as agreed
        from unnest(${turns}::int[], ${hashes}::text[]) as keyword (turn, hash)
        cross join lateral (
          select place from document_keywords
          where user_id = ${userId}::uuid and keyword_hash = keyword.hash
            and place <= walk.place
            and (walk.agreed < ${count} or place < walk.place)
          order by place desc limit 1
        ) as newest
        where keyword.turn = walk.turn
        order by newest.place desc limit 1
      ) as next
      where walk.found < ${page.limit}
    )
    select place from walk where agreed = ${count} and found > 0
    order by place desc`;
}
