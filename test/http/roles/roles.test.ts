import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { proofHeader } from '../../support/accounts/reauth-account.ts';
import type { JsonAnswer } from '../../support/http/send.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { ask, removalsLast, renew, routes, type TestedRoute } from './ask.ts';
import { expectations, isReached, type Expectation } from './expectations.ts';
import {
  createCallers,
  createOwner,
  snapshot,
  tenants,
  type Owner,
  type RoleCaller,
} from './scene.ts';

interface Scene {
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly owners: readonly Owner[];
  readonly callers: readonly RoleCaller[];
}

const test = anyTest as TestFn<Scene>;

test.before(async (t) => {
  const vault = await startReadyVault();
  const owners = await Promise.all(tenants.map((tenant) => createOwner(vault, tenant)));
  const callers = await createCallers(vault);
  t.context = { vault, sql: createSql(vault), owners, callers };
});
test.after.always((t) => t.context.vault.stop());

test.serial('every route states which roles of which tenant reach what', (t) => {
  const names = routes.map(({ name }) => name);
  t.deepEqual(Object.keys(expectations).toSorted(), names.toSorted());
  for (const { name, access } of routes) {
    t.is(access === 'public', expectations[name]?.kind === 'anyone', name);
    t.is(access === 'internal', expectations[name]?.kind === 'refused', name);
  }
});

/** Returns whether a response shows or confirms anything of the owner. */
function showsOwner({ kind }: Expectation, { status, text, body }: JsonAnswer, owner: Owner) {
  if (kind === 'named') return status !== 403 && status !== 404;
  const { results } = (body ?? {}) as { readonly results?: Record<string, { valid: boolean }> };
  if (results !== undefined) return results[owner.ids.proof]?.valid === true;
  return owner.marks.some((mark) => text.includes(mark));
}

function nameOf({ tenant, role }: RoleCaller, owner: Owner): string {
  return `${role} of ${tenant} at ${owner.tenant}`;
}

for (const route of routes) {
  const expectation = expectations[route.name];
  if (expectation === undefined || expectation.kind === 'anyone') continue;

  test.serial(`${route.name} shows and changes nothing out of a role’s reach`, async (t) => {
    const { sql, owners, callers } = t.context;
    for (const owner of owners) {
      const before = await snapshot(sql, owner);
      for (const caller of callers) {
        if (isReached(expectation, caller, owner)) continue;
        const label = nameOf(caller, owner);
        const proof = await proofHeader(t.context.vault, caller.api.caller);
        const answer = await ask(t.context.vault, caller.api, route, expectation, owner, proof);
        t.true(answer.status < 500, `${label}: ${answer.text}`);
        t.false(showsOwner(expectation, answer, owner), `${label}: ${answer.text}`);
        if (expectation.kind === 'refused') t.is(answer.status, 401, label);
      }
      t.deepEqual(await snapshot(sql, owner), before, owner.tenant);
    }
  });
}

async function assertReached(
  t: ExecutionContext<Scene>,
  route: TestedRoute,
  expectation: Expectation,
  caller: RoleCaller,
): Promise<number> {
  let reached = 0;
  for (const owner of t.context.owners) {
    if (!isReached(expectation, caller, owner)) continue;
    const present = await renew(t.context.sql, expectation, owner);
    const proof = await proofHeader(t.context.vault, caller.api.caller);
    const answer = await ask(t.context.vault, caller.api, route, expectation, present, proof);
    const label = `${nameOf(caller, owner)}: ${answer.text}`;
    t.true(answer.status < 300, label);
    if (expectation.reveals === true) t.true(showsOwner(expectation, answer, present), label);
    reached += 1;
  }
  return reached;
}

for (const route of routes) {
  const expectation = expectations[route.name];
  if (expectation === undefined || expectation.reach.platform.length === 0) continue;

  test.serial(`${route.name} serves the roles in whose reach the owner is`, async (t) => {
    let reached = 0;
    for (const caller of t.context.callers) {
      reached += await assertReached(t, route, expectation, caller);
    }
    // Each role of a tenant reaches one owner from its tenant, each platform role both from both.
    const { tenant, platform } = expectation.reach;
    t.is(reached, tenant.length * 2 + platform.length * 4);
  });
}

// These tests show that the requests above name resources that exist.
for (const route of removalsLast) {
  const expectation = expectations[route.name];
  const isStream = /(events|download)$/.test(route.path);
  // The owner of a share is its sender, who has nothing among what others share.
  const isOfRecipient = route.path.startsWith('/v1/documents/shared/');
  if (expectation?.kind !== 'named' || expectation.reach.tenant.length > 0) continue;
  if (isStream || isOfRecipient) continue;

  test.serial(`${route.name} finds what its owner names`, async (t) => {
    for (const owner of t.context.owners) {
      const answer = await ask(t.context.vault, owner.api, route, expectation, owner);
      t.true(showsOwner(expectation, answer, owner), `${owner.tenant}: ${answer.text}`);
      t.true(answer.status < 500, answer.text);
    }
  });
}
