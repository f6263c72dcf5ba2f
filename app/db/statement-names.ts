/** Number of uses from which a statement gets a name. */
const usesBefore = 3;
/** Limit on names, since every connection keeps a plan for each. */
const maxNames = 200;
const maxCounted = 1_000;
/**
 * Limit on the parameters of a named statement. More of them come from a list, whose every length
 * gives another text: a client could use up all names, and the plans would take megabytes.
 */
const maxParameters = 32;

/**
 * Creates a function that returns the name under which Postgres prepares a statement. It returns
 * undefined for a statement that is rare, has no parameters or too many, or comes when all names
 * are taken. A `select *` gets no name either: Postgres refuses a prepared one once a migration has
 * added a column.
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
