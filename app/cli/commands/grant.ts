import { Role, Scope } from '../../accounts/rights.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';
import { parseRights, rightsOptions, withGrants } from '../rights.ts';

const tenantName = /^[\w.:-]{1,128}$/;
const planName = /^[\w.-]{1,64}$/;

export const grant: Command = {
  usage: `usage: probatio grant --email E [--role R]... [--scope S]... [--tenant T] [--plan P]

Gives an active account more rights, or another tenant or plan. It leaves an audit entry.

  --email E    the account
  --role R     ${Role.options.join(', ')}
  --scope S    ${Scope.options.join(', ')}
  --tenant T   moves the account; refused while it owns anything or is logged in
  --plan P     one of the configured plans

  DATABASE_SERVICE_URL   the login of workers
`,
  async run(args) {
    const values = parseOptions(args, {
      ...rightsOptions,
      tenant: { type: 'string' },
      plan: { type: 'string' },
    });
    const { tenant, plan } = values;
    const { email, ...rights } = parseRights(values);
    if (tenant !== undefined && !tenantName.test(tenant)) {
      throw new UsageError('--tenant must be 1 to 128 letters, digits, . _ : or -');
    }
    if (plan !== undefined && !planName.test(plan)) {
      throw new UsageError('--plan must be 1 to 64 letters, digits, . _ or -');
    }
    if (rights.roles.length + rights.scopes.length === 0 && tenant === undefined && !plan) {
      throw new UsageError('say what to grant: --role, --scope, --tenant or --plan');
    }
    const changes = await withGrants((grants) => grants.grant(email, { ...rights, tenant, plan }));
    const { previousTenant: _previous, ...granted } = changes;
    const lines = Object.entries(granted).map(([what, names]) => `granted ${what}: ${names}\n`);
    if (lines.length === 0) return `nothing to do: ${email} has it all\n`;
    return `${lines.join('')}it takes effect when the account next logs in or refreshes its token, within 15 minutes\n`;
  },
};
