/** Returns whether an error of Postgres has this SQLSTATE. */
export function hasState(error: unknown, state: string): boolean {
  return error instanceof Error && (error as { code?: string }).code === state;
}

/** Returns whether a row violated the named unique index (SQLSTATE 23505). */
export function violatesUnique(error: unknown, index: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code, constraint } = error as { code?: string; constraint?: string };
  return (code === '23505' && constraint === index) || violatesUnique(error.cause, index);
}

/** Returns whether a row belongs to no partition of the table (SQLSTATE 23514, no constraint). */
export function lacksPartition(error: unknown, partitioned: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code, table, constraint } = error as { code?: string } & Partial<
    Record<'table' | 'constraint', string>
  >;
  const isMissing = code === '23514' && table === partitioned && constraint === undefined;
  return isMissing || lacksPartition(error.cause, partitioned);
}
