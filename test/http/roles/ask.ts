import { listRoutes } from '../../../app/wiring/routes.ts';
import type { Api, SendOptions } from '../../support/documents/uploads.ts';
import { send, type JsonAnswer } from '../../support/http/send.ts';
import type { Sql } from '../../support/vault/sql.ts';
import type { Vault } from '../../support/vault/vault.ts';
import type { Expectation } from './expectations.ts';
import { failJob, killEntry, storeSealed, type Owner } from './scene.ts';

export const routes = listRoutes().map(({ method, path, access }) => {
  const verb = method.toUpperCase();
  return { verb, path, access, name: `${verb} ${path}` };
});

export type TestedRoute = (typeof routes)[number];

/** The routes in an order in which removals come last. */
export const removalsLast = routes.toSorted((a, b) => rank(a.verb) - rank(b.verb));

function rank(verb: string): number {
  return verb === 'DELETE' ? 1 : 0;
}

/** Sends the route's request at the resources of an owner. */
export function ask(
  { baseUrl }: Pick<Vault, 'baseUrl'>,
  { token }: Pick<Api, 'token'>,
  route: TestedRoute,
  { resource, options }: Expectation,
  owner: Owner,
  headers: SendOptions['headers'] = {},
): Promise<JsonAnswer> {
  const { ids } = owner;
  const path = route.path
    .replace(':partNumber', '1')
    .replace(':shareId', ids.share)
    .replace(/:\w+/, resource === undefined ? 'none' : ids[resource]);
  const own = options(owner);
  const all = { ...own, token, headers: { ...own.headers, ...headers } };
  return send(route.verb, `${baseUrl}${path}`, all);
}

/** Gives the owner another resource in place of one that a request uses up. */
export async function renew(sql: Sql, { usesUp }: Expectation, owner: Owner): Promise<Owner> {
  const ids = { ...owner.ids };
  if (usesUp === 'sealed') Object.assign(ids, await storeSealed(owner.api));
  if (usesUp === 'job') ids.job = await failJob(sql, owner.api);
  if (usesUp === 'dead') ids.dead = await killEntry(sql, owner.api);
  return { ...owner, ids };
}
