import test from 'ava';
import { nameRoles } from '../../../app/db/columns/roles.ts';
import { openDatabase, type Database } from '../../../app/db/database.ts';
import { createIsolationCheck } from '../../../app/db/isolation/check.ts';
import { createOwnRoles, type OwnRoles } from './own-roles.ts';

let roles: OwnRoles;
let db: Database;
let check: ReturnType<typeof createIsolationCheck>;

test.before(async () => {
  roles = await createOwnRoles();
  const { app, service, url } = roles;
  db = await openDatabase({ url: url(app), serviceUrl: url(service), poolSize: 2 });
  check = createIsolationCheck(db, roles);
});
test.after.always(async () => {
  await db.close();
  await roles[Symbol.asyncDispose]();
});

/** Records a migration that this release does not know, as that of a later one is. */
const record = "insert into migrations (name) values ('Migration9999OfTomorrow')";
const forget = "delete from migrations where name = 'Migration9999OfTomorrow'";

/** Statements of the superuser, with the usual names of the roles. */
interface Change {
  readonly make: readonly string[];
  readonly undo: readonly string[];
}

const table = (rights: string, ...more: readonly string[]) => ({
  make: [
    'create table papers (id uuid primary key, user_id uuid)',
    ...more,
    `grant ${rights} on papers to probatio_app`,
  ],
  undo: ['drop table papers'],
});
const forced = 'alter table papers enable row level security, force row level security';
const owners = "create policy papers_owner on papers using (user_id::text = 'nobody')";

const tolerated: Readonly<Record<string, Change>> = {
  'a table with forced row-level security': table('select, insert', forced, owners),
  'a view that reads as its caller': {
    make: [
      'create view excerpt with (security_invoker = true) as select id from documents',
      `grant select on excerpt to probatio_app`,
    ],
    undo: ['drop view excerpt'],
  },
};

const alwaysTolerated: Readonly<Record<string, Change>> = {
  'a restrictive policy': {
    make: [
      `create policy narrow on documents as restrictive for insert to probatio_app
       with check (version > 0)`,
    ],
    undo: ['drop policy narrow on documents'],
  },
  'a column': {
    make: ['alter table documents add column colour text not null default $$red$$'],
    undo: ['alter table documents drop column colour'],
  },
  'a trigger': {
    make: [
      'create function nothing() returns trigger language plpgsql as $$ begin return new; end $$',
      'create trigger noted before update on documents for each row execute function nothing()',
    ],
    undo: ['drop trigger noted on documents', 'drop function nothing()'],
  },
};

const refused: Readonly<Record<string, Change & { readonly remedy: RegExp }>> = {
  'a policy that shows more rows': {
    make: ['create policy wide on documents for select to probatio_app using (true)'],
    undo: ['drop policy wide on documents'],
    remedy: /drop policy wide on documents/,
  },
  'a table without row-level security': {
    ...table('select'),
    remedy: /revoke all on papers/,
  },
  'a table whose row-level security spares the owner': {
    ...table('select', 'alter table papers enable row level security', owners),
    remedy: /revoke all on papers/,
  },
  'a table that the login may truncate': {
    ...table('select, truncate', forced, owners),
    remedy: /revoke truncate/,
  },
  'a view that reads as its owner': {
    make: [
      'create view excerpt as select id from documents',
      'grant select on excerpt to probatio_app',
    ],
    undo: ['drop view excerpt'],
    remedy: /revoke all on excerpt/,
  },
  'a right on a table that was closed to the login': {
    make: ['grant select on accounts to probatio_app'],
    undo: ['revoke select on accounts from probatio_app'],
    remedy: /revoke all on accounts/,
  },
  'a function with the rights of the owner': {
    make: ['create function peep() returns int language sql security definer as $$select 1$$'],
    undo: ['drop function peep()'],
    remedy: /revoke execute on function peep\(\)/,
  },
  'row-level security that spares the owner': {
    make: ['alter table documents no force row level security'],
    undo: ['alter table documents force row level security'],
    remedy: /alter table documents force row level security/,
  },
  'a policy less': {
    make: ['alter policy documents_owner on documents rename to documents_of_old'],
    undo: ['alter policy documents_of_old on documents rename to documents_owner'],
    remedy: /documents lacks the policy documents_owner/,
  },
};

async function findText({ make, undo }: Change, isLater: boolean): Promise<string | undefined> {
  const run = (statements: readonly string[]) =>
    roles.sql(...statements.map((statement) => nameRoles(statement, roles)));
  await run(isLater ? [record, ...make] : make);
  try {
    return (await check())?.text;
  } finally {
    await run([...undo, forget]);
  }
}

for (const [what, change] of Object.entries({ ...tolerated, ...alwaysTolerated })) {
  test.serial(`an earlier release serves although a later one added ${what}`, async (t) => {
    t.is(await findText(change, true), undefined);
  });
}

for (const [what, change] of Object.entries(tolerated)) {
  test.serial(`${what} that no later release can have added is refused`, async (t) => {
    t.regex((await findText(change, false)) ?? '', /has rights on \w+: revoke all on/);
  });
}

for (const [what, { remedy, ...change }] of Object.entries(refused)) {
  test.serial(`an earlier release serves no longer after a later one made ${what}`, async (t) => {
    t.regex((await findText(change, true)) ?? '', remedy);
    t.is(await check(), undefined, 'the change is undone');
  });
}
