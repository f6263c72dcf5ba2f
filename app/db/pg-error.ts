/** Returns whether a row violated the named unique index (SQLSTATE 23505). */
export function violatesUnique(error: unknown, index: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code, constraint } = error as { code?: string; constraint?: string };
  return (code === '23505' && constraint === index) || violatesUnique(error.cause, index);
}
