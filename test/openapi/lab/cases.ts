import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Role } from '../../../app/accounts/rights.ts';
import { expectations } from '../../http/roles/expectations.ts';
import { createOwner, type Owner } from '../../http/roles/scene.ts';
import { prepareAccountCase } from './account-cases.ts';
import { signBody } from './signed-bodies.ts';
import type { KeysVault } from '../../signing-keys/keys-vault.ts';
import { readApiDocument, type ApiOperation } from '../../support/openapi/document.ts';

/** Milliseconds for which the tokens of an operation are used: less than any token is valid. */
const tokenMs = 120_000;

/** The parts of a request that schemathesis could not make up. */
interface Case {
  /** The names of the headers that every case gets. */
  readonly credentials: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface Prepared {
  readonly case: Case;
  readonly until: number;
  readonly owner: Owner;
}

/**
 * Serves the case of each operation at `/<operationId>`. Each operation has a user of its own with
 * one of every resource, so that an operation which ends the session or closes the account spoils
 * no other one. The users have every role and scope, a device, and fresh tokens.
 */
export async function serveCases(keys: KeysVault) {
  const operations = new Map(
    Object.entries(readApiDocument().paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [
        operation.operationId,
        { path, method, operation },
      ]),
    ),
  );
  const prepared = new Map<string, Promise<Prepared>>();

  async function prepare(name: string, known: Owner | undefined): Promise<Prepared> {
    const found = operations.get(name);
    if (found === undefined) throw new Error(`no operation ${name}`);
    const owner = known ?? (await createBoundOwner(keys));
    const { path, method, operation } = found;
    const route = `${method === 'head' ? 'GET' : method.toUpperCase()} ${toPattern(path)}`;
    const expectation = expectations[route];
    const { json = null, headers = {} } = expectation?.options(owner) ?? {};
    const ofAccount = await prepareAccountCase(keys.vault, name);
    const credentials = ofAccount?.credentials ?? (await credentialsOf(keys, owner, operation));
    const parameters = await parametersOf(keys, owner, path, expectation?.resource);
    const body = bodyOf(name, owner, json);
    return {
      owner,
      until: performance.now() + tokenMs,
      case: {
        credentials: Object.keys(credentials),
        headers: { ...byDevice(owner, operation), ...headers, ...credentials },
        parameters,
        body: ofAccount?.body ?? (await signBody(name, owner, { body, parameters })),
      },
    };
  }

  async function find(name: string): Promise<Case & { readonly isFirst: boolean }> {
    const last = await prepared.get(name);
    if (last !== undefined && last.until > performance.now()) {
      return { ...last.case, isFirst: false };
    }
    const next = prepare(name, last?.owner);
    prepared.set(name, next);
    return { ...(await next).case, isFirst: true };
  }

  const server = createServer((request, response) => {
    const name = (request.url ?? '').slice(1);
    find(name).then(
      (found) => response.end(JSON.stringify(found)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/**
 * Creates a user with one of each resource, whose session is bound to the device among them. The
 * object is written by the API, so that it has a history.
 */
async function createBoundOwner({ vault, sql }: KeysVault): Promise<Owner> {
  const owner = await createOwner(vault, 'default');
  const { api, ids } = owner;
  await sql('update login_sessions set device_id = $1 where id = $2', [
    ids.device,
    api.caller.sessionId,
  ]);
  await sql('delete from sync_objects where user_id = $1', [api.caller.userId]);
  const object = randomUUID();
  const { status } = await api.send('POST', '/v1/sync/create', {
    json: { objectId: object, data: { title: 'Lease' } },
    headers: { 'X-Device-Id': ids.device, 'X-Schema-Version': '1' },
  });
  if (status !== 201) throw new Error(`the object got ${status}`);
  return { ...owner, ids: { ...ids, object } };
}

/** Returns a body that the operation accepts; null to keep what schemathesis made up. */
function bodyOf(operation: string, { ids }: Owner, json: unknown): unknown {
  return operation === 'addVersion' ? { storagePath: ids.file } : json;
}

async function credentialsOf(
  { vault, internalKey }: KeysVault,
  { api }: Owner,
  { security }: ApiOperation,
): Promise<Record<string, string>> {
  const schemes = new Set(security.flatMap((each) => Object.keys(each)));
  if (schemes.size === 1 && schemes.has('internalKey'))
    return { 'X-Internal-Api-Key': internalKey };
  if (!schemes.has('bearer')) return {};
  const token = await vault.tokens.access({ ...api.caller, roles: [...Role.options] });
  const bearer = { Authorization: `Bearer ${token}` };
  if (!schemes.has('reauth')) return bearer;
  return { ...bearer, 'X-Reauth-Token': await vault.tokens.reauth(api.caller) };
}

async function parametersOf(
  keys: KeysVault,
  { ids }: Owner,
  path: string,
  resource: keyof Owner['ids'] | undefined,
): Promise<Record<string, string>> {
  const [first, ...others] = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (first === undefined) return {};
  if (first === 'keyId') return { keyId: (await keys.create('audit')).keyId };
  return {
    ...(resource === undefined ? {} : { [first]: ids[resource] }),
    ...(others.includes('shareId') ? { shareId: ids.share } : {}),
    ...(others.includes('partNumber') ? { partNumber: '1' } : {}),
  };
}

function byDevice({ ids }: Owner, { parameters = [] }: ApiOperation): Record<string, string> {
  const names = new Set(
    parameters.flatMap((parameter) => ('name' in parameter ? [parameter.name] : [])),
  );
  return {
    ...(names.has('X-Device-Id') ? { 'X-Device-Id': ids.device } : {}),
    ...(names.has('X-Schema-Version') ? { 'X-Schema-Version': '1' } : {}),
  };
}

function toPattern(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}
