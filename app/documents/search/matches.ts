import { sql, type RawBuilder } from 'kysely';
import { MAX } from 'uuid';

export interface Wanted {
  /** Keyword hashes that a document must have. */
  readonly all: readonly string[];
  /** Keyword hashes of which it must have one, unless empty. */
  readonly any: readonly string[];
}

interface Page {
  readonly limit: number;
  /** Ids below this one. */
  readonly cursor?: string | undefined;
}

type Matches = RawBuilder<{ document_id: string }>;

/**
 * The ids of a user's documents with these keywords, newest first. The statements say step by step
 * how the index is read: Postgres expects one document of any keyword of a user, and would compare
 * the lists of two keywords each with each.
 */
export function selectMatches(
  userId: string,
  { all, any }: Wanted,
  { limit, cursor = MAX }: Page,
): Matches {
  // A document must have one keyword of every group.
  const groups = [...new Set(all)].map((hash) => [hash]);
  if (any.length > 0) groups.push([...new Set(any)]);
  const [first = [], ...others] = groups;
  return others.length === 0
    ? selectUnion(userId, first, { limit, cursor })
    : selectIntersection(userId, groups, { limit, cursor });
}

/** Documents with one of the keywords: the newest of each, merged. */
function selectUnion(userId: string, hashes: readonly string[], page: Required<Page>): Matches {
  return sql`
    select distinct newest.document_id
    from unnest(${hashes}::text[]) as keyword (hash)
    cross join lateral (
      select document_id from document_keywords
      where user_id = ${userId}::uuid and keyword_hash = keyword.hash
        and document_id < ${page.cursor}::uuid
      order by document_id desc limit ${page.limit}
    ) as newest
    order by newest.document_id desc limit ${page.limit}`;
}

/**
 * Documents with a keyword of every group. The groups take turns: each is asked for its newest
 * document not above the one before's, and what all of them name in a row is a match. So a rare
 * keyword makes the others skip, and no more is read than a page needs.
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
    with recursive walk (document_id, turn, agreed, found) as (
      select ${page.cursor}::uuid, 0, ${count}::int, 0
      union all
      select next.document_id, (walk.turn + 1) % ${count}, next.agreed,
        walk.found + (next.agreed = ${count})::int
      from walk
      cross join lateral (
        select newest.document_id,
          case when newest.document_id = walk.document_id then walk.agreed + 1 else 1 end as agreed
        from unnest(${turns}::int[], ${hashes}::text[]) as keyword (turn, hash)
        cross join lateral (
          select document_id from document_keywords
          where user_id = ${userId}::uuid and keyword_hash = keyword.hash
            and document_id <= walk.document_id
            and (walk.agreed < ${count} or document_id < walk.document_id)
          order by document_id desc limit 1
        ) as newest
        where keyword.turn = walk.turn
        order by newest.document_id desc limit 1
      ) as next
      where walk.found < ${page.limit}
    )
    select document_id from walk where agreed = ${count} and found > 0
    order by document_id desc`;
}
