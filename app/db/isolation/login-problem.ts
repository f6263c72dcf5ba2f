import type { DatabaseRoles } from '../columns/roles.ts';
import type { LoginFacts } from './login-facts.ts';

/** A login of the vault, by the names of its settings. */
export interface LoginSettings {
  readonly role: keyof DatabaseRoles;
  readonly otherRole: keyof DatabaseRoles;
  /** The variable with the URL. */
  readonly urlVariable: string;
  /** The variable with the name of the role. */
  readonly roleVariable: string;
}

export const appLogin: LoginSettings = {
  role: 'app',
  otherRole: 'service',
  urlVariable: 'DATABASE_URL',
  roleVariable: 'DATABASE_APP_ROLE',
};

export const serviceLogin: LoginSettings = {
  role: 'service',
  otherRole: 'app',
  urlVariable: 'DATABASE_SERVICE_URL',
  roleVariable: 'DATABASE_SERVICE_ROLE',
};

/** The names of tables and views on which a login has rights. */
interface LoginTables {
  /** Those of which the policies admit the role to rows, and which it needs. */
  readonly needed: readonly string[];
  /** Others on which it may have rights. */
  readonly allowed: readonly string[];
}

interface Finding {
  readonly isFound: boolean;
  /** The problem and its remedy. */
  readonly text: string;
}

/**
 * Returns what makes a login unfit for its role, with the remedy, in one line; undefined if it is
 * fit.
 */
export function findLoginProblem(
  settings: LoginSettings,
  facts: LoginFacts,
  roles: DatabaseRoles,
  tables: LoginTables,
): string | undefined {
  const findings = [
    ...identityFindings(settings, facts, roles),
    ...powerFindings(facts, roles[settings.role]),
    ...sessionFindings(facts),
    ...rightFindings(settings, facts, roles[settings.role], tables),
  ];
  const found = findings.find(({ isFound }) => isFound);
  if (found === undefined) return undefined;
  return `${settings.urlVariable} logs in as ${facts.sessionUser}, which ${found.text}`;
}

function identityFindings(
  { role, otherRole, roleVariable }: LoginSettings,
  { user, sessionUser, hasRole, hasOtherRole, attributes }: LoginFacts,
  roles: DatabaseRoles,
): readonly Finding[] {
  const [own, other] = [roles[role], roles[otherRole]];
  const [attribute] = attributes;
  return [
    {
      isFound: sessionUser !== own && (!hasRole || attribute !== undefined),
      text: `is not the role ${own} of the policies: use the URL of ${own}, or set ${roleVariable}`,
    },
    {
      isFound: user !== sessionUser,
      text: `acts as ${user}: alter role ${sessionUser} reset role`,
    },
    {
      isFound: attribute !== undefined,
      text: `has the attribute ${attribute}: alter role ${own} no${attribute}`,
    },
    {
      isFound: hasOtherRole,
      text:
        `also has the rights of ${other}: ` +
        (user === other ? `revoke ${own} from ${other}` : `revoke ${other} from ${user}`),
    },
  ];
}

function powerFindings(
  { user, memberships: [membership], owned: [owned], otherMembers: [member] }: LoginFacts,
  role: string,
): readonly Finding[] {
  return [
    {
      isFound: membership !== undefined,
      text: `is a member of ${membership}: revoke ${membership} from ${user}`,
    },
    {
      isFound: owned !== undefined,
      text: `owns the ${owned}: give it to the owner of the database, by alter … owner to`,
    },
    {
      isFound: member !== undefined,
      text: `is not the only member of ${role}: revoke ${role} from ${member}`,
    },
  ];
}

function sessionFindings({ user, rowSecurity, schemas }: LoginFacts): readonly Finding[] {
  return [
    {
      isFound: rowSecurity !== 'on',
      text: `has row_security = ${rowSecurity}: alter role ${user} reset row_security`,
    },
    {
      isFound: schemas.join() !== 'public',
      text: `has another search_path than public: alter role ${user} set search_path = public`,
    },
  ];
}

function rightFindings(
  { roleVariable }: LoginSettings,
  { rights: [right], unbound: [unbound], usable }: LoginFacts,
  role: string,
  { needed, allowed }: LoginTables,
): readonly Finding[] {
  const foreign = usable.find((table) => !needed.includes(table) && !allowed.includes(table));
  const missing = needed.find((table) => !usable.includes(table));
  return [
    { isFound: right !== undefined, text: `may use ${right?.name}: ${right?.remedy}` },
    {
      isFound: unbound !== undefined,
      text:
        `has rights on ${unbound} that no policy restricts: ` +
        `revoke truncate, references, trigger, maintain on ${unbound} from public, ${role}`,
    },
    {
      isFound: foreign !== undefined,
      text: `has rights on ${foreign}: revoke all on ${foreign} from public, ${role}`,
    },
    {
      isFound: missing !== undefined,
      text: `has no rights on ${missing}: run probatio migrate with ${roleVariable}=${role}`,
    },
  ];
}
