import { Email } from '../accounts/email.ts';
import { createGrants, type Grants } from '../accounts/grants.ts';
import { Role, Scope } from '../accounts/rights.ts';
import { createAuditTrail } from '../audit/trail.ts';
import { systemClock } from '../clock.ts';
import { openDatabase } from '../db/database.ts';
import { requireVariable, UsageError } from './command.ts';

/** What `grant` and `revoke` have in common. */

export const rightsOptions = {
  email: { type: 'string' },
  role: { type: 'string', multiple: true },
  scope: { type: 'string', multiple: true },
} as const;

interface RightsValues {
  readonly email?: string | undefined;
  readonly role?: readonly string[] | undefined;
  readonly scope?: readonly string[] | undefined;
}

/** Throws UsageError for what is no address, role or scope. */
export function parseRights({ email, role = [], scope = [] }: RightsValues) {
  const address = Email.safeParse(email);
  if (!address.success) throw new UsageError('--email must be the address of an account');
  return {
    email: address.data,
    roles: parseAll(Role, role, '--role'),
    scopes: parseAll(Scope, scope, '--scope'),
  };
}

function parseAll<T extends typeof Role | typeof Scope>(
  kind: T,
  names: readonly string[],
  option: string,
): T['options'][number][] {
  return [...new Set(names)].map((name) => {
    const parsed = kind.safeParse(name);
    if (!parsed.success) {
      throw new UsageError(`${option} ${name}: must be one of ${kind.options.join(', ')}`);
    }
    return parsed.data;
  });
}

/** Works on the database that DATABASE_SERVICE_URL names; a running app signs the entries. */
export async function withGrants<T>(work: (grants: Grants) => Promise<T>): Promise<T> {
  const serviceUrl = requireVariable('DATABASE_SERVICE_URL');
  // Nobody is a user here: the other login is never used.
  const db = await openDatabase({ url: serviceUrl, serviceUrl, poolSize: 1 });
  const audit = createAuditTrail({
    clock: systemClock,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  try {
    return await work(createGrants({ db, audit }));
  } finally {
    await db.close();
  }
}
