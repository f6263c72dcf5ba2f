/** The id of the caller. A setting that was never made is null, or empty in a used session. */
export const callerId = `nullif(current_setting('app.user_id', true), '')::uuid`;
export const callerTenant = `current_setting('app.tenant_id', true)`;

const isOwn = `user_id = ${callerId} and tenant_id = ${callerTenant}`;

/** Forces row-level security on a table, and lets the service login read and write all rows. */
export function serviceRows(table: string): string {
  return `alter table ${table} enable row level security, force row level security;
create policy ${table}_service on ${table} to probatio_service using (true) with check (true);`;
}

/** Does what serviceRows does, and lets users read and write the rows that are their own. */
export function ownRows(table: string): string {
  return ownRowsIf(table, isOwn);
}

/**
 * Does what ownRows does, but lets users write only rows that refer to a row of `parent` which is
 * their own too. Postgres checks foreign keys regardless of row-level security.
 */
export function ownRowsUnder(table: string, column: string, parent: string): string {
  return ownRowsIf(
    table,
    `${isOwn}
    and exists (select 1 from ${parent}
      where ${parent}.id = ${table}.${column} and ${parent}.user_id = ${table}.user_id)`,
  );
}

function ownRowsIf(table: string, check: string): string {
  return `${serviceRows(table)}
${withoutStatistics(table, 'user_id')}
create policy ${table}_owner on ${table} to probatio_app
  using (${isOwn})
  with check (${check});`;
}

/**
 * Leaves a column out of the statistics, so that Postgres expects each user to have a two-hundredth
 * of the rows (docs/adr/0042). Plans are kept: one that is made for a user with few rows may read
 * all rows of a user with many.
 */
export function withoutStatistics(table: string, column: string): string {
  return `alter table ${table} alter column ${column} set statistics 0;`;
}

/** The rights that the logins have on the database, and the canary of row-level security. */
export const isolation = `
grant usage on schema public to probatio_app, probatio_service;
-- Only the owner of the database can do this, and its name is known only here.
do $$
begin
  execute format('revoke temporary, create on database %I from public', current_database());
end
$$;

-- Refuses changes of rows that must stay as they are. Superusers may make them.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'permission denied by trigger % on %', tg_name, tg_table_name
    using errcode = 'insufficient_privilege';
end;
$$;

-- A row that belongs to nobody. The app login does not see it, unless it escapes the policies.
create table isolation_canaries (id uuid primary key);
insert into isolation_canaries (id) values ('ca4a7100-0000-4000-8000-000000000000');
${serviceRows('isolation_canaries')}
create policy isolation_canaries_owner on isolation_canaries for select to probatio_app
  using (id = ${callerId});
grant select on isolation_canaries to probatio_app, probatio_service;
`;
