/**
 * Returns how Postgres refused a login for good, with the remedy, as the end of a sentence. Returns
 * undefined for any other error, such as that of a database that is away.
 */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = '' } = error as { code?: string };
  return refusals.get(code) ?? refusalOf(error.cause);
}

const refusals: ReadonlyMap<string, string> = new Map([
  ['28000', 'names a role that may not log in: create the role, or see to pg_hba.conf'],
  ['28P01', 'names a role that Postgres refuses: correct its name or password'],
  ['3D000', 'names a database that does not exist: correct its name, or create it'],
  ['42501', 'names a role that lacks the right to connect: grant connect on the database to it'],
]);
