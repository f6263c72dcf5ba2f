import { Role, Scope } from '../../../accounts/rights.ts';
import { nobody } from '../../../audit-trail/event.ts';
import { parseOptions, UsageError, type Command } from '../../command.ts';
import { parseRights, rightsOptions, withGrants } from './rights.ts';

const tenantName = /^[\w.:-]{1,128}$/;
const planName = /^[\w.-]{1,64}$/;

export const grant: Command = {
  usage: `usage: probatio grant --email E [--role R]... [--scope S]... [--tenant T] [--plan P]

Grants an active account more rights, or another tenant or plan. Writes an audit entry.

  --email E    e-mail address of the account
  --role R     ${Role.options.join(', ')};
               the platform roles act in every tenant, the others in that of the account
  --scope S    ${Scope.options.join(', ')}
  --tenant T   moves the account to this tenant; refused while it owns anything or is logged in
  --plan P     one of the configured plans

  DATABASE_SERVICE_URL    database URL with the login of the workers, or the path of a file that
                          holds it in DATABASE_SERVICE_URL_FILE
  HTTP_PUBLIC_URL         the vault's URL, by which audit entries name it
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  run: grantRights,
};

async function grantRights(args: readonly string[]): Promise<string> {
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
  if (tenant === nobody.tenantId) {
    throw new UsageError(`--tenant ${tenant} is reserved: no account can belong to it`);
  }
  if (plan !== undefined && !planName.test(plan)) {
    throw new UsageError('--plan must be 1 to 64 letters, digits, . _ or -');
  }
  const namesRights = rights.roles.length + rights.scopes.length > 0;
  if (!namesRights && tenant === undefined && plan === undefined) {
    throw new UsageError('give what to grant: --role, --scope, --tenant or --plan');
  }
  const changes = await withGrants((grants) => grants.grant(email, { ...rights, tenant, plan }));
  const { previousTenant: _previous, ...granted } = changes;
  const lines = Object.entries(granted).map(([what, names]) => `granted ${what}: ${names}\n`);
  if (lines.length === 0) return `nothing to do: ${email} already has all that was named\n`;
  const effect = 'it takes effect at the next login or token refresh, within 15 minutes';
  return `${lines.join('')}${effect}\n`;
}
