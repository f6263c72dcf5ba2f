import { ownRows } from './rows.ts';

/** The counters in the order of the columns of `usage`. */
const counters = [
  'open_uploads',
  'storage_bytes',
  'uploads',
  'upload_parts',
  'documents',
  'metadata_bytes',
  'keywords',
  'devices',
  'shares',
  'share_recipients',
  'sync_objects',
  'sync_object_bytes',
  'history_entries',
  'history_bytes',
  'kept_answers',
  'kept_answer_bytes',
] as const;

interface Counted {
  readonly name: string;
  /** The SQL expressions that say how much one row adds to a counter. */
  readonly row: Readonly<Partial<Record<(typeof counters)[number], string>>>;
}

const counted: readonly Counted[] = [
  {
    name: 'upload_sessions',
    row: {
      open_uploads: `(status = 'IN_PROGRESS')::int`,
      storage_bytes: `case when status in ('IN_PROGRESS', 'COMPLETED') then file_size else 0 end`,
      uploads: '1',
      upload_parts: 'total_parts',
    },
  },
  { name: 'documents', row: { documents: '1' } },
  { name: 'document_versions', row: { metadata_bytes: 'octet_length(encrypted_metadata)' } },
  { name: 'document_keywords', row: { keywords: '1' } },
  { name: 'devices', row: { devices: '1' } },
  { name: 'document_shares', row: { shares: '1' } },
  { name: 'share_recipients', row: { share_recipients: '1' } },
  {
    name: 'sync_objects',
    row: {
      sync_objects: '(not deleted)::int',
      sync_object_bytes: 'coalesce(octet_length(data), 0)',
    },
  },
  {
    name: 'sync_history',
    row: {
      history_entries: '1',
      history_bytes: 'coalesce(octet_length(changed_fields), 0) + coalesce(octet_length(undo), 0)',
    },
  },
  { name: 'sync_requests', row: { kept_answers: '1', kept_answer_bytes: 'octet_length(answer)' } },
  {
    name: 'idempotency_keys',
    row: {
      kept_answers: '(status is not null)::int',
      kept_answer_bytes: 'coalesce(octet_length(response), 0)',
    },
  },
];

const eachCounter = (sql: (name: string, n: number) => string) =>
  counters.map((name, index) => sql(name, index + 1));

/** The condition is true without a limit, and for a counter that does not grow. */
const isWithin = (name: string, n: number) =>
  `(added[${n}] <= 0 or ${name} + added[${n}] <= limits[${n}]) is not false`;

const table = `
-- Counters of what each user keeps (docs/adr/0016). Triggers of the counted tables change them when
-- a transaction commits.
create table usage (
  user_id uuid not null,
  tenant_id text not null,
  ${counters.map((counter) => `${counter} bigint not null default 0`).join(',\n  ')},
  primary key (user_id, tenant_id)
);
${ownRows('usage')}
grant select, insert, update on usage to probatio_app;
grant select, insert, update, delete on usage to probatio_service;

-- Adds to what the transaction will add to the counters when it commits: an object whose members
-- are arrays of counters, by owner. All owners of a statement at once, since each call reads and
-- writes the whole setting.
create function add_usage(changes jsonb) returns void
language plpgsql as $$
declare
  pending jsonb := coalesce(nullif(current_setting('app.usage', true), ''), '{}')::jsonb;
  summed jsonb;
begin
  if changes is null then
    return;
  end if;
  select jsonb_object_agg(owner, (
    select jsonb_agg(before.value::bigint + added.value::bigint order by place)
    from jsonb_array_elements_text(pending -> owner) with ordinality as before (value, place)
    join jsonb_array_elements_text(changes -> owner) with ordinality as added (value, place)
      using (place)
  ))
  into summed
  from jsonb_object_keys(changes) as owner where pending ? owner;
  perform set_config('app.usage', (pending || changes || coalesce(summed, '{}'))::text, true);
end $$;

-- Changes the counters of one owner, unless that would exceed a limit. Locks the owner's row.
create function settle_usage_of(owner_id uuid, tenant text, added bigint[], limits bigint[])
returns void language plpgsql as $$
declare
  exceeded jsonb;
begin
  loop
    update usage set
      ${eachCounter((name, n) => `${name} = ${name} + added[${n}]`).join(',\n      ')}
    where user_id = owner_id and tenant_id = tenant
      and ${eachCounter(isWithin).join('\n      and ')};
    if found then
      return;
    end if;
    insert into usage (user_id, tenant_id) values (owner_id, tenant) on conflict do nothing;
    select jsonb_agg(jsonb_build_object('column', n, 'used', used[n], 'limit', limits[n]))
    into exceeded
    from (
      select array[${counters.join(', ')}] as used from usage
      where user_id = owner_id and tenant_id = tenant
    ) as present, generate_subscripts(added, 1) as n
    where added[n] > 0 and used[n] + added[n] > limits[n];
    if exceeded is not null then
      raise exception 'a limit of the plan is reached' using errcode = 'PQ001',
        detail = exceeded::text;
    end if;
  end loop;
end $$;

-- Runs when a transaction commits, so that it locks rows of usage after all its other locks.
-- Owners are taken in one order, so that concurrent transactions cannot deadlock.
create function settle_usage() returns trigger language plpgsql as $$
declare
  pending jsonb := nullif(current_setting('app.usage', true), '')::jsonb;
  limits bigint[] := nullif(current_setting('app.limits', true), '')::bigint[];
  owner text;
  added jsonb;
begin
  if pending is null then
    return null;
  end if;
  perform set_config('app.usage', '', true);
  for owner, added in select key, value from jsonb_each(pending) order by key collate "C" loop
    perform settle_usage_of(
      left(owner, 36)::uuid,
      substr(owner, 38),
      array(
        select value::bigint
        from jsonb_array_elements_text(added) with ordinality as a (value, place) order by place
      ),
      limits
    );
  end loop;
  return null;
end $$;
`;

/** Returns the function that counts the rows which a statement added, changed or removed. */
function countChanges({ name, row }: Counted): string {
  const sums = (sign: string) =>
    counters
      .map((counter) => {
        const value = row[counter];
        return value === undefined ? '0' : `sum(${sign}(${value}))::bigint`;
      })
      .join(', ');
  const nothing = `array_fill(0::bigint, array[${counters.length}])`;
  const add = (rows: string, sign: string) => `perform add_usage(changes)
    from (
      select jsonb_object_agg(user_id || ' ' || tenant_id, added)
        filter (where added <> ${nothing}) as changes
      from (
        select user_id, tenant_id, array[${sums(sign)}]::bigint[] as added
        from ${rows} group by user_id, tenant_id
      ) as changed
    ) as summed`;
  return `
create function count_${name}() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    ${add('inserted', '')};
  elsif tg_op = 'DELETE' then
    ${add('deleted', '-')};
  else
    ${add(
      `(select *, 1 as sign from inserted union all select *, -1 as sign from deleted) as rows`,
      'sign * ',
    )};
  end if;
  return null;
end $$;
`;
}

function addTriggers({ name }: Counted): string {
  return `
create trigger ${name}_added after insert on ${name}
  referencing new table as inserted
  for each statement execute function count_${name}();
create trigger ${name}_changed after update on ${name}
  referencing old table as deleted new table as inserted
  for each statement execute function count_${name}();
create trigger ${name}_removed after delete on ${name}
  referencing old table as deleted
  for each statement execute function count_${name}();
-- The condition is checked at each row, before the statement's own trigger counts: so only the
-- first statement of a transaction queues its rows.
create constraint trigger ${name}_settled after insert or update or delete on ${name}
  deferrable initially deferred for each row
  when (coalesce(current_setting('app.usage', true), '') = '')
  execute function settle_usage();
`;
}

/** Returns the function that computes all counters from the rows that they count. */
function recount(): string {
  const rowsOf = ({ name, row }: Counted) =>
    `select user_id, tenant_id, ${counters
      .map((counter) => `(${row[counter] ?? 0})::bigint as ${counter}`)
      .join(', ')} from ${name}`;
  return `
-- A check of the body would fail, as the session of a migration refuses to read under policies.
set local check_function_bodies = off;
create function recount_usage() returns setof usage language sql stable as $$
  select user_id, tenant_id, ${counters.map((counter) => `sum(${counter})::bigint`).join(', ')}
  from (
    ${counted.map(rowsOf).join('\n    union all\n    ')}
  ) as rows
  group by user_id, tenant_id
$$;
set local check_function_bodies = on;
`;
}

/** Counters of what users keep, and the triggers that change them. */
export const usage = [
  table,
  ...counted.map(countChanges),
  recount(),
  ...counted.map(addTriggers),
].join('');
