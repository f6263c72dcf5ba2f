import { Role, Scope } from '../../accounts/rights.ts';
import { parseOptions, UsageError, type Command } from '../command.ts';
import { parseRights, rightsOptions, withGrants } from '../rights.ts';

export const revoke: Command = {
  usage: `usage: probatio revoke --email E [--role R]... [--scope S]... [--sessions]

Takes rights from an active account. It leaves an audit entry.

  --email E    the account
  --role R     ${Role.options.filter((role) => role !== 'user').join(', ')}
  --scope S    ${Scope.options.join(', ')}
  --sessions   logs the account out everywhere, within 5 seconds; without it, what was revoked
               holds until the account refreshes its token, up to 15 minutes

  DATABASE_SERVICE_URL   the login of workers
`,
  async run(args) {
    const values = parseOptions(args, {
      ...rightsOptions,
      sessions: { type: 'boolean' },
    });
    const { sessions = false } = values;
    const { email, ...rights } = parseRights(values);
    if (rights.roles.includes('user')) throw new UsageError('every account has the role user');
    if (rights.roles.length + rights.scopes.length === 0 && !sessions) {
      throw new UsageError('say what to revoke: --role, --scope or --sessions');
    }
    const { sessions: ended = 0, ...revoked } = await withGrants((grants) =>
      grants.revoke(email, { ...rights, sessions }),
    );
    const lines = Object.entries(revoked).map(([what, names]) => `revoked ${what}: ${names}\n`);
    if (sessions) return `${lines.join('')}ended sessions: ${ended}\n`;
    if (lines.length === 0) return `nothing to do: ${email} has none of it\n`;
    return `${lines.join('')}it takes effect when the account refreshes its token, within 15 minutes; --sessions ends its sessions now\n`;
  },
};
