import test from 'ava';
import { createAccount, logIn } from '../../support/accounts/test-account.ts';
import { type TestVault, startReadyVault } from '../../support/vault/vault.ts';
import { assertError, assertSecurityHeaders } from '../../support/http/error-body.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { send } from '../../support/http/send.ts';

let vault: TestVault;
let token: string;

test.before(async () => {
  vault = await startReadyVault();
  token = await logIn(vault, await createAccount(vault));
});
test.after.always(() => vault.stop());

const unknownPaths = [
  '/nowhere',
  '/v1',
  '/V1/documents',
  '/v1/Documents',
  '/v1/documents/',
  '/v1//documents',
  '//v1/documents',
  '/v2/documents',
  '/api/v1',
  '/health/',
  '/.well-known/other',
  '/v1/documents/x/y/z',
  '/%2e%2e/etc/passwd',
  '/%zz',
  '/%00',
  '/api/docs',
  '/api/docs/openapi.json',
  '/__proto__',
  '/constructor',
];
for (const path of unknownPaths) {
  test(`${path} is not found, with or without a token`, async (t) => {
    for (const authorization of ['', `Authorization: Bearer ${token}\r\n`]) {
      const request = `GET ${path} HTTP/1.1\r\nHost: vault.test\r\n${authorization}\r\n`;
      const answer = await exchange(vault.baseUrl, request);
      const body = assertError(t, answer, { status: 404, code: 'not_found' });
      t.is(body.path, path);
    }
  });
}

const wrongMethods: [string, string, string[]][] = [
  ['DELETE', '/', ['GET', 'HEAD']],
  ['GET', '/v1/auth/register', ['POST']],
  ['PUT', '/v1/auth/login/verify', ['POST']],
  ['PATCH', '/v1/documents', ['GET', 'HEAD', 'POST']],
  ['POST', '/v1/documents/abc', ['DELETE', 'GET', 'HEAD']],
  ['TRACE', '/health', ['GET', 'HEAD']],
  ['PROPFIND', '/health', ['GET', 'HEAD']],
  ['POST', '/.well-known/jwks.json', ['GET', 'HEAD']],
];
for (const [method, path, allowed] of wrongMethods) {
  test(`${method} ${path} lists the allowed methods`, async (t) => {
    const request = `${method} ${path} HTTP/1.1\r\nHost: vault.test\r\n\r\n`;
    const answer = await exchange(vault.baseUrl, request);
    assertError(t, answer, { status: 405, code: 'method_not_allowed' });
    t.deepEqual((answer.headers.get('allow') ?? '').split(', ').sort(), allowed);
  });
}

test('an unknown method on an unknown path is not found', async (t) => {
  const answer = await exchange(vault.baseUrl, 'PROPFIND /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
  assertError(t, answer, { status: 404, code: 'not_found' });
  t.is(answer.headers.get('allow'), null);
});

test('HEAD responds like GET without the body', async (t) => {
  for (const path of ['/', '/v1/auth/srp-params', '/v1/documents', '/nowhere']) {
    const [head, get] = await Promise.all(
      ['HEAD', 'GET'].map((method) => send(method, `${vault.baseUrl}${path}`)),
    );
    t.is(head?.status, get?.status, path);
    t.is(head?.text, '', path);
    t.is(head?.headers.get('content-type'), get?.headers.get('content-type'), path);
    assertSecurityHeaders(t, head?.headers ?? new Headers(), path);
  }
});

test('OPTIONS lists the allowed methods and grants nothing to other origins', async (t) => {
  const headers = { Origin: 'https://elsewhere.test', 'Access-Control-Request-Method': 'POST' };
  const answer = await send('OPTIONS', `${vault.baseUrl}/v1/documents`, { headers });
  t.true([200, 204].includes(answer.status));
  t.deepEqual((answer.headers.get('allow') ?? '').split(', ').sort(), ['GET', 'HEAD', 'POST']);
  t.is(answer.headers.get('access-control-allow-origin'), null);
  assertSecurityHeaders(t, answer.headers);
});

test('a well-formed X-Request-Id is returned, any other is replaced', async (t) => {
  const sent = async (id: string | undefined, path = '/health/live') => {
    const options = id === undefined ? {} : { headers: { 'X-Request-Id': id } };
    const answer = await send('GET', `${vault.baseUrl}${path}`, options);
    return answer.headers.get('x-request-id');
  };
  for (const id of ['a', '0', 'A.b_c-d', 'x'.repeat(128)]) {
    t.is(await sent(id), id);
    t.is(await sent(id, '/nowhere'), id);
  }
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  for (const id of [undefined, '', 'a b', 'x'.repeat(129), '<script>', 'a,b', 'é']) {
    t.regex((await sent(id)) ?? '', uuid, id);
  }
});

test('responses and errors carry the security headers and no cookie', async (t) => {
  const paths = ['/', '/health', '/v1/auth/srp-params', '/v1/documents', '/nowhere', '/?a=1'];
  for (const path of paths) {
    const { headers } = await send('GET', `${vault.baseUrl}${path}`, { token });
    assertSecurityHeaders(t, headers, path);
    t.is(headers.get('set-cookie'), null, path);
    t.is(headers.get('x-powered-by'), null, path);
    t.is(headers.get('server'), null, path);
    t.is(headers.get('strict-transport-security'), null, path);
  }
});

test('HSTS is sent behind https, if a trusted proxy forwards the scheme', async (t) => {
  const proxied = await startReadyVault({ HTTP_TRUSTED_PROXIES: '127.0.0.0/8, ::1/128' });
  t.teardown(() => proxied.stop());
  const hsts = async (baseUrl: string, proto: string) => {
    const headers = { 'X-Forwarded-Proto': proto };
    const answer = await send('GET', `${baseUrl}/nowhere`, { headers });
    return answer.headers.get('strict-transport-security');
  };
  t.regex((await hsts(proxied.baseUrl, 'https')) ?? '', /^max-age=[0-9]+/);
  t.is(await hsts(proxied.baseUrl, 'http'), null);
  t.is(await hsts(vault.baseUrl, 'https'), null, 'an untrusted peer is ignored');
});
