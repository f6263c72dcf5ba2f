/** Uses of a statement from which it is worth a name. */
const usesBefore = 3;
/** Postgres keeps the plan of each in each connection. */
const maxNames = 200;
const maxCounted = 1_000;
/**
 * With more it has a list in it, of which each length is a text of its own: a user could send lists
 * until there are no names left, and plans of megabytes.
 */
const maxParameters = 32;

/**
 * The name under which Postgres prepares a statement; undefined for one that is rare, comes after too
 * many others, or has no parameters or very many. A `select *` has none either: once a migration has
 * added a column, Postgres refuses what was prepared before it.
 */
export function createStatementNames(): (text: string, parameters: number) => string | undefined {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  return (text, parameters) => {
    if (parameters === 0 || parameters > maxParameters) return undefined;
    const known = names.get(text);
    if (known !== undefined || names.size >= maxNames || text.includes('*')) return known;
    const count = (uses.get(text) ?? 0) + 1;
    if (count < usesBefore) {
      if (uses.size >= maxCounted) uses.clear();
      uses.set(text, count);
      return undefined;
    }
    uses.delete(text);
    const name = `s${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}
