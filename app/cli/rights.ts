import { Email } from '../accounts/email.ts';
import { createGrants, type Grants } from '../lifecycle/grants/grants.ts';
import { Role, Scope } from '../accounts/rights.ts';
import { UsageError } from './command.ts';
import { withServiceDatabase } from './service-database.ts';

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

export function withGrants<T>(work: (grants: Grants) => Promise<T>): Promise<T> {
  return withServiceDatabase((service) => work(createGrants(service)));
}
