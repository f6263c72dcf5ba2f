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

/**
 * Creates a function that returns the name under which Postgres prepares a statement. The name is
 * undefined for a statement that was seldom used, that has no parameters or too many, or that is
 * first used when all names are taken. A `select *` gets no name either, since Postgres refuses a
 * prepared `select *` once a migration has added a column.
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
