import { createHash } from 'node:crypto';

/** The number of the use at which a statement gets a name. */
const usesBefore = 3;
/** Limit on names, since every connection keeps a plan for each. */
const maxNames = 200;
const maxCounted = 1_000;
/**
 * Maximum number of parameters of a named statement. A statement with more parameters contains a
 * list, and each length of the list gives another statement text: a client could use up all names,
 * and the plans would take megabytes.
 */
const maxParameters = 32;

/** Matches `select *` and `returning *`, which Kysely writes with or without a table. */
const starColumns = /(?:\bselect\s+|\breturning\s+|,\s*|\.)\*/i;

/** Creates the names under which Postgres prepares the statements of one pool. */
export function createStatementNames() {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  let isStopped = false;
  return {
    /**
     * Returns the name of a statement. Returns undefined for a statement that was seldom used, that
     * has no parameters or too many, or that is first used when all names are taken. A `select *`
     * gets no name either, since Postgres refuses a prepared `select *` once a migration has added
     * a column.
     */
    find(text: string, parameters: number): string | undefined {
      if (isStopped || parameters === 0 || parameters > maxParameters) return undefined;
      const known = names.get(text);
      if (known !== undefined || names.size >= maxNames || starColumns.test(text)) return known;
      const count = (uses.get(text) ?? 0) + 1;
      if (count < usesBefore) {
        if (uses.size >= maxCounted) uses.clear();
        uses.set(text, count);
        return undefined;
      }
      uses.delete(text);
      const name = nameOf(text);
      names.set(text, name);
      return name;
    },

    /** Gives no more names. Returns false if it was called before. */
    stop(): boolean {
      if (isStopped) return false;
      isStopped = true;
      return true;
    },
  };
}

/**
 * Returns a name that stands for this text alone. Behind a pooler that does not support prepared
 * statements, another process may have prepared a statement under the same name on the same
 * connection: it is then the same statement.
 */
function nameOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
