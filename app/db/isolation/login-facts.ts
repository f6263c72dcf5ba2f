import { sql } from 'kysely';
import type { DatabaseRoles } from '../columns/roles.ts';
import type { Tx } from '../database.ts';

/** The facts about a login, the role that the policies name, and the database. */
export interface LoginFacts {
  readonly user: string;
  /** The role that logged in; another one than `user` after `alter role … set role`. */
  readonly sessionUser: string;
  /** Tells the database from every other one, also of other servers. */
  readonly databaseId: string;
  /** Whether the login has the rights of the role that the policies name. */
  readonly hasRole: boolean;
  /** Whether the login is the other role of the vault, or may assume it. */
  readonly hasOtherRole: boolean;
  /** Logins, other than this one, that may act as the role without being it. */
  readonly otherMembers: readonly string[];
  /** Attributes of the login or its role that escape row-level security, or lead to such. */
  readonly attributes: readonly string[];
  /** Roles with rights of their own that the login may use or assume. */
  readonly memberships: readonly string[];
  /** Descriptions of what the login or its role owns. */
  readonly owned: readonly string[];
  /** `on`, unless the settings of the role or the database say otherwise. */
  readonly rowSecurity: string;
  /** The schemas in which names are looked up. */
  readonly schemas: readonly string[];
  /** Rights on the database, its schemas, functions and parameters that the login must not have. */
  readonly rights: readonly Right[];
  /** Tables on which the login has a right that row-level security does not restrict. */
  readonly unbound: readonly string[];
  /** Tables whose rows the login may read or write, as far as row-level security lets it. */
  readonly usable: readonly string[];
}

/** A right, and the SQL that takes it away. */
interface Right {
  readonly name: string;
  readonly remedy: string;
}

/** Reads the facts about the login of `tx`, for the role `role` of the vault. */
export async function readLoginFacts(
  tx: Tx,
  roles: DatabaseRoles,
  role: keyof DatabaseRoles,
): Promise<LoginFacts> {
  const own = roles[role];
  const other = roles[role === 'app' ? 'service' : 'app'];
  const { rows } = await sql<LoginFacts>`
    with me as (
      select oid, rolname as name, array_remove(array[oid, to_regrole(${own})::oid], null) as roles
      from pg_roles where rolname = current_user
    )
    select current_user::text as "user", session_user::text as "sessionUser",
      (select system_identifier::text from pg_control_system()) || ' ' ||
        (select oid::text from pg_database where datname = current_database()) as "databaseId",
      coalesce(pg_has_role(to_regrole(${own})::oid, 'usage'), false) as "hasRole",
      coalesce(pg_has_role(to_regrole(${other})::oid, 'member'), false) as "hasOtherRole",
      ${otherMembers(own)} as "otherMembers",
      ${attributes} as attributes,
      ${memberships} as memberships,
      ${owned} as owned,
      current_setting('row_security') as "rowSecurity",
      current_schemas(false)::text[] as schemas,
      ${rightsOf(role)} as rights,
      ${tablesWith(sql`has_table_privilege(c.oid, 'truncate, references, trigger, maintain')`)}
        as unbound,
      ${tablesWith(sql`(has_table_privilege(c.oid, 'select, insert, update, delete')
        or has_any_column_privilege(c.oid, 'select, insert, update'))`)} as usable
    from me`.execute(tx);
  const [facts] = rows;
  if (facts === undefined) throw new TypeError('the login is no role of the database');
  return facts;
}

/** Selects the logins that may use the role `own`. Superusers, who may use any, are left out. */
function otherMembers(own: string) {
  return sql`array(
    select r.rolname::text from pg_roles r
    where r.rolname not in (me.name, ${own}) and me.name <> ${own} and r.rolcanlogin
      and not r.rolsuper and (pg_has_role(r.oid, to_regrole(${own})::oid, 'usage')
        or pg_has_role(r.oid, to_regrole(${own})::oid, 'set'))
    order by 1)`;
}

const attributes = sql`array(
  select distinct attribute from pg_roles r
  cross join lateral (values (r.rolsuper, 'superuser'), (r.rolbypassrls, 'bypassrls'),
    (r.rolcreaterole, 'createrole'), (r.rolcreatedb, 'createdb'),
    (r.rolreplication, 'replication')) as had (has, attribute)
  where r.oid = any (me.roles) and has order by 1)`;

/** A role without attributes, objects and rights, as for a kind of login, is of no consequence. */
const memberships = sql`array(
  select r.rolname::text from pg_roles r
  where r.oid <> all (me.roles) and pg_has_role(r.oid, 'member')
    and (r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication
      or r.rolname like 'pg\\_%' or exists (
        select from pg_shdepend d
        where d.refclassid = 'pg_authid'::regclass and d.refobjid = r.oid))
  order by 1)`;

const owned = sql`array(
  select case when d.dbid in (0, (select oid from pg_database where datname = current_database()))
    then pg_describe_object(d.classid, d.objid, d.objsubid)
    else 'an object of the database ' || (select datname from pg_database where oid = d.dbid) end
  from pg_shdepend d
  where d.refclassid = 'pg_authid'::regclass and d.refobjid = any (me.roles) and d.deptype = 'o'
  order by 1 limit 3)`;

const foreignSchema = sql`n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`;

/** Functions that act with the rights of the owner, by the role that may call them. */
const ownersFunctions: Readonly<Record<keyof DatabaseRoles, readonly string[]>> = {
  app: [],
  service: ['public.make_audit_partitions()'],
};

const rightsOf = (role: keyof DatabaseRoles) => sql`(
  select coalesce(json_agg(json_build_object('name', name, 'remedy', remedy)), '[]') from (
    select has, name, remedy from (values
      (has_database_privilege(current_database(), 'temporary'), 'temporary tables',
        format('revoke temporary on database %I from public', current_database())),
      (has_database_privilege(current_database(), 'create'), 'new schemas',
        format('revoke create on database %I from public', current_database())),
      (has_function_privilege('pg_catalog.lo_create(oid)', 'execute')
        or has_function_privilege('pg_catalog.lo_creat(integer)', 'execute')
        or has_function_privilege('pg_catalog.lo_from_bytea(oid, bytea)', 'execute'),
        'large objects',
        'revoke execute on function lo_creat, lo_create, lo_from_bytea from public'),
      (has_parameter_privilege('session_replication_role', 'set'), 'switching off triggers',
        format('revoke set on parameter session_replication_role from %I', me.name))
    ) as one (has, name, remedy)
    union all
    select has_schema_privilege(n.oid, 'create'), 'new objects in the schema ' || n.nspname,
      format('revoke create on schema %I from public, %I', n.nspname, me.name)
    from pg_namespace n where ${foreignSchema} and n.nspname !~ '^pg_'
    union all
    select has_function_privilege(p.oid, 'execute'),
      'acting as another role by the function ' || p.oid::regprocedure,
      format('revoke execute on function %s from public, %I', p.oid::regprocedure, me.name)
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where p.prosecdef and p.prorettype <> 'trigger'::regtype and ${foreignSchema}
      and not exists (select from unnest(${ownersFunctions[role]}::text[]) as allowed
        where to_regprocedure(allowed) = p.oid)
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass
        and d.objid = p.oid and d.deptype = 'e')
  ) as every where has)`;

/** Selects the tables and views, but for those of extensions, for which `condition` holds. */
function tablesWith(condition: ReturnType<typeof sql>) {
  return sql`array(
    select case when n.nspname = 'public' then c.relname::text else c.oid::regclass::text end
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and ${foreignSchema} and n.nspname !~ '^pg_'
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass
        and d.objid = c.oid and d.deptype = 'e')
      and ${condition}
    order by 1)`;
}
