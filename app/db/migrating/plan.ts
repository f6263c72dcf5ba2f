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
