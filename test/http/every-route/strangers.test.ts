import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { decodeJwt } from 'jose';
import { Scope } from '../../../app/accounts/rights.ts';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { createAccount, logIn } from '../../support/accounts/test-account.ts';
import { startKeyServer } from '../../support/issuers/key-server.ts';
import { createSigningKey } from '../../support/issuers/signing-key.ts';
import { testIssuer } from '../../support/issuers/test-issuer.ts';
import { trustKey } from '../../support/accounts/trusted-key.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { assertError } from '../../support/http/error-body.ts';
import { postJson, send } from '../../support/http/send.ts';

interface Scene {
  readonly vault: TestVault;
  readonly stop: () => Promise<void>;
  readonly ids: Readonly<Record<string, string>>;
  /** Tokens with the owner's id in another tenant, and as a subject of another issuer. */
  readonly strangers: Readonly<Record<string, string>>;
}

const test = anyTest as TestFn<Scene>;

const scopes = [...Scope.options];

test.before(async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-strangers-'));
  const server = await startKeyServer();
  const foreign = await createSigningKey();
  server.publish(foreign.jwk);
  const issuer = {
    ...testIssuer(server.url),
    grants: { roles: ['user'], scopes, tenants: ['default'] },
  };
  const issuersFile = path.join(directory, 'issuers.json');
  await writeFile(issuersFile, JSON.stringify([issuer]));
  const vault = await startReadyVault({ AUTH_ISSUERS_FILE: issuersFile });
  const token = await logIn(vault, await createAccount(vault));
  const { sub, sid } = decodeJwt<{ sid: string }>(token);
  const own = await trustKey(vault);
  const exp = Math.floor(Date.now() / 1000) + 900;
  t.context = {
    vault,
    async stop() {
      await vault.stop();
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
    ids: { ...(await storeEverything(vault, token)), session: sid },
    strangers: {
      'of another tenant': await own.sign({ sub, tenant_id: 'other' }),
      'of another issuer': await foreign.sign({
        iss: issuer.issuer,
        aud: issuer.audience,
        exp,
        sub,
        tenant_id: 'default',
        authz: { roles: ['user'], scopes },
      }),
    },
  };
});

test.after.always((t) => t.context.stop());

/** Stores one of each resource that has an id. */
async function storeEverything({ baseUrl }: TestVault, token: string) {
  const bytes = new Uint8Array(randomBytes(64));
  const post = async (target: string, json?: unknown) => {
    const { status, body, text } = await postJson(`${baseUrl}${target}`, json, token);
    if (status >= 300) throw new Error(`${target} returned ${status}: ${text}`);
    return body as Record<string, string>;
  };
  const mimeType = 'application/octet-stream';
  const file = { fileName: 'a', mimeType, totalParts: 1, fileSize: bytes.length };
  const { sessionId = '' } = await post('/v1/uploads', file);
  await send('PUT', `${baseUrl}/v1/uploads/${sessionId}/parts/1`, { token, bytes });
  const { fileKey } = await post(`/v1/uploads/${sessionId}/complete`);
  const { id: document = '' } = await post('/v1/documents', {
    encryptedMetadata: randomBytes(64).toString('base64'),
    keywordDeterministic: [],
    storagePath: fileKey,
  });
  const { proofId: proof = '' } = await post(`/v1/documents/${document}/certify`);
  const { sessionId: upload = '' } = await post('/v1/uploads', file);
  return { document, proof, upload };
}

/** Fills the parameters of a path with the ids of the owner's resources. */
function pathOf(name: string, ids: Scene['ids']): string {
  const kinds = { documents: 'document', uploads: 'upload', audit: 'proof' };
  const [, feature = ''] = /^\/(?:api\/)?v1\/(\w+)/.exec(name) ?? [];
  const [, kind = 'session'] = Object.entries(kinds).find(([of]) => of === feature) ?? [];
  return name
    .replace(':partNumber', '1')
    .replace(/:(id|sessionId)\b/, ids[kind] ?? '')
    .replace(/:\w+/g, ids['document'] ?? '');
}

/**
 * Routes for users. The routes for operators are left out, since nobody owns what they show; those
 * of synchronisation check the device first (test/sync/refusals.test.ts).
 */
const routes = listRoutes()
  .filter(({ path }) => !path.startsWith('/v1/sync'))
  .flatMap(({ method, path: main, aliases = [], access, body, query }) =>
    typeof access === 'object' && access.reauth !== true && access.roles?.includes('user') !== false
      ? [main, ...aliases].map((name) => ({ method: method.toUpperCase(), name, body, query }))
      : [],
  );

/** Returns whether a route takes any user's id, whether or not there is such a user. */
const takesAnyId = ({ method, name }: (typeof routes)[number]) =>
  method === 'PUT' && name.endsWith('/blocked-senders/:senderId');

for (const route of routes.filter(({ name }) => name.includes('/:'))) {
  if (takesAnyId(route)) continue;
  const { method, name, body } = route;
  test(`${method} ${name} is 404 for a stranger with the owner’s id`, async (t) => {
    const { vault, ids, strangers } = t.context;
    for (const [who, token] of Object.entries(strangers)) {
      const json = body === undefined ? {} : { json: {} };
      const answer = await send(method, vault.baseUrl + pathOf(name, ids), { token, ...json });
      const isRefused = body !== undefined && [400, 428].includes(answer.status);
      t.true(isRefused || answer.status === 404, `${who}: ${answer.status}`);
      if (!isRefused) assertError(t, answer, { status: 404, code: 'not_found' }, who);
    }
  });
}

/** The answers to strangers of routes that wrap their list in an object. */
const nothingOf: Readonly<Record<string, object>> = {
  '/v1/audit/entries': { entries: [], archivedMonths: [] },
  '/v1/jobs/failed': { jobs: [], total: 0 },
};

for (const { name } of routes.filter(
  (route) => route.method === 'GET' && route.query !== undefined,
)) {
  // The status of the audit log is an object rather than a list.
  if (name.includes('/:') || name === '/v1/audit/proof/status') continue;
  test(`GET ${name} is empty for a stranger with the owner’s id`, async (t) => {
    const { vault, strangers } = t.context;
    for (const [who, token] of Object.entries(strangers)) {
      const { status, body } = await send('GET', vault.baseUrl + name, { token });
      t.is(status, 200, who);
      t.deepEqual(body, nothingOf[name] ?? [], who);
    }
  });
}
