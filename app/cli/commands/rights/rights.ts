import { Email } from '../../../accounts/email.ts';
import { createGrants, type Grants } from '../../../lifecycle/grants/grants.ts';
import { Role, Scope } from '../../../accounts/rights.ts';
import { UsageError } from '../../command.ts';
import { withServiceDatabase } from '../../service-database.ts';

/** The options that `grant` and `revoke` share. */
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

/** Parses the shared options. Throws UsageError for an invalid e-mail address, role or scope. */
export function parseRights({ email: given, role = [], scope = [] }: RightsValues) {
  const email = Email.safeParse(given);
  if (!email.success) throw new UsageError('--email must be the e-mail address of an account');
  return {
    email: email.data,
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

/** Runs `work` with the grants service on the database that DATABASE_SERVICE_URL names. */
export function withGrants<T>(work: (grants: Grants) => Promise<T>): Promise<T> {
  return withServiceDatabase((service) => work(createGrants(service)));
}
