import { Role, Scope } from '../../../accounts/rights.ts';
import { parseOptions, UsageError, type Command } from '../../command.ts';
import { parseRights, rightsOptions, withGrants } from './rights.ts';

export const revoke: Command = {
  usage: `usage: probatio revoke --email E [--role R]... [--scope S]... [--sessions]

Revokes rights of an active account. Writes an audit entry.

  --email E    e-mail address of the account
  --role R     ${Role.options.filter((role) => role !== 'user').join(', ')}
  --scope S    ${Scope.options.join(', ')}
  --sessions   ends all login sessions of the account within 5 seconds; without it, the account
               keeps revoked rights until it refreshes its token, for up to 15 minutes

  DATABASE_SERVICE_URL    database URL with the login of the workers, or the path of a file that
                          holds it in DATABASE_SERVICE_URL_FILE
  HTTP_PUBLIC_URL         the vault's URL, by which audit entries name it
  DATABASE_APP_ROLE       role of the login for users; probatio_app unless set
  DATABASE_SERVICE_ROLE   role of the login for workers; probatio_service unless set
`,
  async run(args) {
    const values = parseOptions(args, {
      ...rightsOptions,
      sessions: { type: 'boolean' },
    });
    const { sessions = false } = values;
    const { email, ...rights } = parseRights(values);
    if (rights.roles.includes('user'))
      throw new UsageError('every account has the role user, which cannot be revoked');
    if (rights.roles.length + rights.scopes.length === 0 && !sessions) {
      throw new UsageError('give what to revoke: --role, --scope or --sessions');
    }
    const { sessions: ended = 0, ...revoked } = await withGrants((grants) =>
      grants.revoke(email, { ...rights, sessions }),
    );
    const lines = Object.entries(revoked).map(([what, names]) => `revoked ${what}: ${names}\n`);
    if (sessions) return `${lines.join('')}ended sessions: ${ended}\n`;
    if (lines.length === 0) return `nothing to do: ${email} has none of these rights\n`;
    const effect = 'it takes effect at the next token refresh, within 15 minutes';
    return `${lines.join('')}${effect}; --sessions ends the sessions now\n`;
  },
};
