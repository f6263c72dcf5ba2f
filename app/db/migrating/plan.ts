/** A migration as the SQL that it runs. */
export interface MigrationPlan {
  readonly name: string;
  /** The texts of SQL. Outside of a transaction each is one statement that may run again. */
  readonly statements: readonly string[];
  /** Whether the statements run as one transaction. */
  readonly isTransactional: boolean;
  /** The release since which nothing needs what the migration removes or changes, if it does. */
  readonly safeSince?: string | undefined;
}

/** An index that is built while others write the table. */
const concurrentIndex =
  /^\s*create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?(\w+)\s+on\b/i;

/**
 * Returns the name of the index that a statement builds while others write the table; undefined for
 * any other statement.
 */
export function concurrentIndexOf(statement: string): string | undefined {
  return concurrentIndex.exec(statement)?.[1];
}
