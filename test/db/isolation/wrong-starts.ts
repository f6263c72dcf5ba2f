import { migrate } from '../../../app/db/migrating/migrate.ts';
import type { OwnRoles } from './own-roles.ts';

/** A wrong setting, login, role or database, with which the vault must not start. */
export interface WrongStart {
  readonly what: string;
  /** Statements of the superuser that make it wrong, and those that undo them. */
  readonly make?: readonly string[];
  readonly undo?: readonly string[];
  /** Environment variables that make it wrong. */
  readonly settings?: NodeJS.ProcessEnv;
  /** Whether a process is started with it; otherwise only the check of a start is run. */
  readonly asProcess?: true;
  /** Matches the remedy in the one line of the log. */
  readonly remedy: RegExp;
}

/** Returns wrong URLs and role names. Some of them need a `stranger`, a login without rights. */
export async function wrongSettings(roles: OwnRoles): Promise<readonly WrongStart[]> {
  const { app, service, owner, url } = roles;
  const stranger = await roles.createLogin('stranger');
  const other = await roles.createDatabase();
  await migrate(url(owner, other), { app, service });
  await roles.sql(`grant connect on database ${roles.database} to ${stranger}`);
  return [
    {
      what: 'the two URLs are swapped',
      settings: { DATABASE_URL: url(service), DATABASE_SERVICE_URL: url(app) },
      remedy: new RegExp(`DATABASE_URL .*: use the URL of ${app}`),
    },
    {
      what: 'the service login is in both URLs',
      settings: { DATABASE_URL: url(service) },
      remedy: new RegExp(`DATABASE_URL .*: use the URL of ${app}`),
    },
    {
      what: 'the app login is in both URLs',
      settings: { DATABASE_SERVICE_URL: url(app) },
      remedy: new RegExp(`DATABASE_SERVICE_URL .*: use the URL of ${service}`),
    },
    {
      what: 'the owner of the database serves users',
      settings: { DATABASE_URL: url(owner) },
      remedy: new RegExp(`DATABASE_URL .*: use the URL of ${app}`),
    },
    {
      what: 'the owner of the database is the service login',
      settings: { DATABASE_SERVICE_URL: url(owner) },
      remedy: new RegExp(`DATABASE_SERVICE_URL .*: use the URL of ${service}`),
    },
    {
      what: 'a superuser serves users',
      settings: { DATABASE_URL: url('postgres') },
      remedy: new RegExp(`DATABASE_URL .*: use the URL of ${app}`),
    },
    {
      what: 'a superuser is the service login',
      settings: { DATABASE_SERVICE_URL: url('postgres') },
      remedy: new RegExp(`DATABASE_SERVICE_URL .*: use the URL of ${service}`),
    },
    {
      what: 'a login without rights serves users',
      settings: { DATABASE_URL: url(stranger) },
      remedy: new RegExp(`DATABASE_URL .*: use the URL of ${app}`),
    },
    {
      what: 'a role without rights is named as the role of users',
      settings: { DATABASE_URL: url(stranger), DATABASE_APP_ROLE: stranger },
      remedy: /has no rights on .*: run probatio migrate with DATABASE_APP_ROLE=/,
    },
    {
      what: 'one role is named for both purposes',
      settings: { DATABASE_APP_ROLE: service },
      remedy: /name one role: name two/,
    },
    {
      what: 'the password is wrong',
      settings: { DATABASE_URL: url(app).replace(':secret@', ':another@') },
      remedy: /DATABASE_URL .*: correct its name or password/,
    },
    {
      what: 'the login does not exist',
      settings: { DATABASE_SERVICE_URL: url('nobody_at_all') },
      remedy: /DATABASE_SERVICE_URL .*: correct its name or password/,
    },
    {
      what: 'the database does not exist',
      settings: { DATABASE_URL: url(app, 'no_such_database') },
      remedy: /DATABASE_URL .*: correct its name, or create it/,
    },
    {
      what: 'the two URLs name two databases',
      settings: { DATABASE_SERVICE_URL: url(service, other) },
      remedy: /name two databases: name one/,
    },
  ];
}

/** Returns wrong roles and wrong states of the database. */
export function wrongDatabases({ app, service, owner, database }: OwnRoles): readonly WrongStart[] {
  const attribute = (role: string, name: string): WrongStart => ({
    what: `${role === app ? 'the app login' : 'the service login'} is ${name}`,
    make: [`alter role ${role} ${name}`],
    undo: [`alter role ${role} no${name}`],
    ...(name === 'bypassrls' ? { asProcess: true } : {}),
    remedy: new RegExp(`alter role ${role} no${name}`),
  });
  return [
    attribute(app, 'superuser'),
    attribute(app, 'bypassrls'),
    attribute(app, 'replication'),
    attribute(app, 'createrole'),
    attribute(service, 'bypassrls'),
    {
      what: 'the app login may not log in',
      make: [`alter role ${app} nologin`],
      undo: [`alter role ${app} login`],
      remedy: /DATABASE_URL names a role that may not log in: create the role/,
    },
    {
      what: 'the app login may not connect',
      make: [`revoke connect on database ${database} from ${app}`],
      undo: [`grant connect on database ${database} to ${app}`],
      remedy: /DATABASE_URL .*: grant connect on the database/,
    },
    {
      what: 'the app login owns a table',
      asProcess: true,
      make: ['create table public.mine (x int)', `alter table mine owner to ${app}`],
      undo: ['drop table mine'],
      remedy: /owns the table mine: give it to the owner/,
    },
    {
      what: 'the service login owns a schema',
      make: [`create schema mine authorization ${service}`],
      undo: ['drop schema mine'],
      remedy: /DATABASE_SERVICE_URL .* owns the schema mine: give it/,
    },
    {
      what: 'the app login is a member of the service role',
      asProcess: true,
      make: [`grant ${service} to ${app}`],
      undo: [`revoke ${service} from ${app}`],
      remedy: new RegExp(`revoke ${service} from ${app}`),
    },
    {
      what: 'the app login may become the owner, though it inherits nothing',
      make: [`grant ${owner} to ${app} with inherit false, set true`],
      undo: [`revoke ${owner} from ${app}`],
      remedy: new RegExp(`revoke ${owner} from ${app}`),
    },
    {
      what: 'the app login may read every table by a predefined role',
      make: [`grant pg_read_all_data to ${app}`],
      undo: [`revoke pg_read_all_data from ${app}`],
      remedy: /revoke pg_read_all_data from/,
    },
    {
      what: 'row_security is off for the app login',
      asProcess: true,
      make: [`alter role ${app} set row_security = off`],
      undo: [`alter role ${app} reset row_security`],
      remedy: /reset row_security/,
    },
    {
      what: 'names are looked up in another schema first',
      make: [
        `create schema other; grant usage on schema other to ${app}`,
        `alter role ${app} in database ${database} set search_path = other, public`,
      ],
      undo: [`alter role ${app} in database ${database} reset search_path`, 'drop schema other'],
      remedy: /set search_path = public/,
    },
    {
      what: 'the app login may create temporary tables',
      asProcess: true,
      make: [`grant temporary on database ${database} to public`],
      undo: [`revoke temporary on database ${database} from public`],
      remedy: /revoke temporary on database/,
    },
    {
      what: 'the app login may create large objects',
      make: ['grant execute on function lo_from_bytea to public'],
      undo: ['revoke execute on function lo_from_bytea from public'],
      remedy: /revoke execute on function lo_creat, lo_create, lo_from_bytea from public/,
    },
    {
      what: 'the app login may truncate a table',
      make: [`grant truncate on documents to ${app}`],
      undo: [`revoke truncate on documents from ${app}`],
      remedy: /revoke truncate, .* on documents/,
    },
    {
      what: 'the app login has a right on a table of the service',
      make: [`grant select on accounts to ${app}`],
      undo: [`revoke select on accounts from ${app}`],
      remedy: /revoke all on accounts/,
    },
    {
      what: 'the app login may call a function that acts as the superuser',
      make: ['create function peep() returns int language sql security definer as $$ select 1 $$'],
      undo: ['drop function peep()'],
      remedy: /revoke execute on function peep\(\)/,
    },
    {
      what: 'the app login lacks a right',
      make: [`revoke all on documents from ${app}`],
      undo: [`grant select, insert, update, delete on documents to ${app}`],
      remedy: /has no rights on documents: run probatio migrate/,
    },
    {
      what: 'row-level security of a table is off',
      asProcess: true,
      make: ['alter table documents disable row level security'],
      undo: ['alter table documents enable row level security'],
      remedy: /alter table documents enable row level security/,
    },
    {
      what: 'row-level security of a table spares the owner',
      make: ['alter table login_sessions no force row level security'],
      undo: ['alter table login_sessions force row level security'],
      remedy: /alter table login_sessions force row level security/,
    },
    {
      what: 'a policy shows all rows to users',
      asProcess: true,
      make: ['alter policy documents_owner on documents using (true)'],
      undo: [
        `alter policy documents_owner on documents
        using (user_id = nullif(current_setting('app.user_id', true), '')::uuid
          and tenant_id = current_setting('app.tenant_id', true))`,
      ],
      remedy: /the policy documents_owner of documents differs: run probatio migrate, or restore/,
    },
    {
      what: 'a policy was added',
      make: [`create policy extra on documents for select to ${app} using (true)`],
      undo: ['drop policy extra on documents'],
      remedy: /drop policy extra on documents/,
    },
    {
      what: 'a policy was dropped',
      make: ['drop policy document_versions_insert on document_versions'],
      undo: [
        `create policy document_versions_insert on document_versions as restrictive
        for insert to ${app} with check (status = 'PENDING')`,
      ],
      remedy: /document_versions lacks the policy document_versions_insert: run/,
    },
    {
      what: 'a trigger is off',
      make: ['alter table document_versions disable trigger sealed'],
      undo: ['alter table document_versions enable trigger sealed'],
      remedy: /document_versions lacks the trigger sealed, or it is off: run/,
    },
    {
      what: 'the canary is gone',
      make: ['delete from isolation_canaries'],
      undo: [`insert into isolation_canaries (id) values ('ca4a7100-0000-4000-8000-000000000000')`],
      remedy: /does not see the row of isolation_canaries: restore the database/,
    },
  ];
}
