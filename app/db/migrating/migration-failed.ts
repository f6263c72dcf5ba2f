/** Thrown for the migration that failed. Those before it have been kept. */
export class MigrationFailed extends Error {
  override name = 'MigrationFailed';

  constructor(migration: string, cause: unknown) {
    super(
      `${migration} failed, and nothing of it is kept unless it runs outside of a transaction`,
      {
        cause,
      },
    );
  }
}
