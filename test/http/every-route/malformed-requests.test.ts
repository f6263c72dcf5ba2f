import test from 'ava';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { assertError, assertSecurityHeaders } from '../../support/http/error-body.ts';
import { exchange } from '../../support/http/raw-http.ts';

let vault: Vault;

test.before(async () => {
  vault = sharedVault();
});

const host = 'Host: vault.test\r\n';
const json = `${host}Content-Type: application/json\r\n`;
const toValidate = `POST /v1/auth/validate-email HTTP/1.1\r\n${json}`;

interface Malformed {
  readonly what: string;
  readonly bytes: string;
  readonly code: string;
  readonly status?: number;
  readonly end?: boolean;
}

const cases: Malformed[] = [
  {
    what: 'a body that ends before its Content-Length',
    bytes: `${toValidate}Content-Length: 100\r\n\r\n{}`,
    end: true,
    code: 'incomplete_body',
  },
  {
    what: 'a chunked body that ends before its last chunk',
    bytes: `${toValidate}Transfer-Encoding: chunked\r\n\r\n2\r\n{}`,
    end: true,
    code: 'incomplete_body',
  },
  {
    what: 'a Content-Length shorter than the body',
    bytes: `${toValidate}Content-Length: 5\r\n\r\n{"token":"x"}`,
    code: 'invalid_request',
  },
  {
    what: 'a negative Content-Length',
    bytes: `${toValidate}Content-Length: -5\r\n\r\n{}`,
    code: 'invalid_request',
  },
  {
    what: 'Content-Length together with chunks',
    bytes: `${toValidate}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    code: 'invalid_request',
  },
  {
    what: 'a chunk without a size',
    bytes: `${toValidate}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`,
    code: 'invalid_request',
  },
  { what: 'no Host', bytes: 'GET / HTTP/1.1\r\n\r\n', code: 'invalid_request' },
  { what: 'two Hosts', bytes: `GET / HTTP/1.1\r\n${host}${host}\r\n`, code: 'invalid_request' },
  { what: 'bytes that are not HTTP', bytes: 'hello\r\n\r\n', code: 'invalid_request' },
  { what: 'HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', code: 'invalid_request' },
  { what: 'TLS', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01', code: 'invalid_request' },
  {
    what: 'a target that is not a URL',
    bytes: `GET http://[/ HTTP/1.1\r\n${host}\r\n`,
    code: 'invalid_request',
  },
  {
    what: 'bytes beyond ASCII in the path',
    bytes: `GET /\xff\xfe HTTP/1.1\r\n${host}\r\n`,
    code: 'invalid_request',
  },
  {
    what: 'NUL in a header',
    bytes: `GET / HTTP/1.1\r\n${host}X-A: a\0b\r\n\r\n`,
    code: 'invalid_request',
  },
  {
    what: 'an unknown method',
    bytes: `JAM / HTTP/1.1\r\n${host}\r\n`,
    code: 'invalid_request',
  },
  {
    what: 'a path of 100 kB',
    bytes: `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${host}\r\n`,
    status: 431,
    code: 'headers_too_large',
  },
  {
    what: 'a header of 100 kB',
    bytes: `GET / HTTP/1.1\r\n${host}X-A: ${'a'.repeat(100_000)}\r\n\r\n`,
    status: 431,
    code: 'headers_too_large',
  },
  {
    what: 'hundreds of short headers',
    bytes: `GET / HTTP/1.1\r\n${host}${'a:\r\n'.repeat(200)}\r\n`,
    status: 431,
    code: 'headers_too_large',
  },
  {
    what: 'thousands of headers',
    bytes: `GET / HTTP/1.1\r\n${host}${'X-A: a\r\n'.repeat(5_000)}\r\n`,
    status: 431,
    code: 'headers_too_large',
  },
];

for (const { what, bytes, code, status = 400, end = false } of cases) {
  test(`a malformed request gets the documented error: ${what}`, async (t) => {
    const answer = await exchange(vault.baseUrl, Buffer.from(bytes, 'latin1'), { end });
    assertError(t, answer, { status, code });
    t.is((await fetch(`${vault.baseUrl}/health/live`)).status, 200, 'the process is alive');
  });
}

const chunked = 'Transfer-Encoding: chunked\r\n';
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const continued = 'Expect: 100-continue\r\nContent-Length: 13\r\n';
const lenient = {
  'a target with scheme and host': `GET http://elsewhere.test/health/live HTTP/1.1\r\n${host}\r\n`,
  'HTTP/1.0 without a Host': 'GET /health/live HTTP/1.0\r\n\r\n',
  'an upgrade to a WebSocket': `GET /health/live HTTP/1.1\r\n${host}${upgrade}\r\n`,
  'an unknown expectation': `GET /health/live HTTP/1.1\r\n${host}Expect: jam\r\n\r\n`,
  'a chunked body': `${toValidate}${chunked}\r\nd\r\n{"token":"x"}\r\n0\r\n\r\n`,
  'a body announced with 100-continue': `${toValidate}${continued}\r\n{"token":"x"}`,
};
for (const [what, bytes] of Object.entries(lenient)) {
  test(`unusual but valid HTTP is served: ${what}`, async (t) => {
    const answer = await exchange(vault.baseUrl, bytes);
    t.is(answer.status, 200);
    assertSecurityHeaders(t, answer.headers);
  });
}

test('a refusal is sent although the body is still being received', async (t) => {
  const head = `POST /v1/auth/register HTTP/1.1\r\n${json}Content-Length: 1000000000\r\n\r\n`;
  const answer = await exchange(vault.baseUrl, head + ' '.repeat(3 * 2 ** 20));
  assertError(t, answer, { status: 413, code: 'body_too_large' });
});

test('pipelined requests are answered in order', async (t) => {
  const one = `GET /health/live HTTP/1.1\r\n${host}\r\n`;
  const last = `GET /nowhere HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;
  const { text } = await exchange(vault.baseUrl, one + last, { untilClosed: true });
  t.regex(text, /^{"status":"ok"}HTTP\/1.1 404 Not Found\r\n/);
});
