import { createHash } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { send, type SendOptions } from '../support/http/send.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

let vault: TestVault;
let api: Api;

test.before(async () => {
  vault = await startReadyVault();
  api = await createApi(vault);
});
test.after.always(() => vault.stop());

interface Refused {
  readonly code: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
}

/** Asserts that a request is refused with one detail, which says what came and what is allowed. */
async function assertExplained(
  t: ExecutionContext,
  request: readonly [method: string, path: string, options: SendOptions],
  [code, path, message]: readonly [code: string, path: string, message: RegExp],
): Promise<void> {
  const [method, to, options] = request;
  const { body, text } = await send(method, vault.baseUrl + to, options);
  const refused = body as Refused;
  t.is(refused.code, code, text);
  t.is(refused.details?.length, 1, text);
  t.is(refused.details?.[0]?.path, path);
  t.regex(refused.details?.[0]?.message ?? '', message);
}

const bytes = (text: string) => new TextEncoder().encode(text);

test('a body of another content type learns which came, and which is read', async (t) => {
  const path = '/v1/auth/validate-email';
  const cases = [
    [
      { 'Content-Type': 'text/plain' },
      'Content-Type',
      /^must be application\/json; text\/plain came$/,
    ],
    [{ 'Content-Type': 'a"b' }, 'Content-Type', /; another value came$/],
    [
      { 'Content-Type': 'application/json; charset=latin1' },
      'Content-Type',
      /^must be charset=utf-8; latin1 came$/,
    ],
    [
      { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
      'Content-Encoding',
      /^must be identity; gzip came$/,
    ],
  ] as const;
  for (const [headers, field, message] of cases) {
    const options = { bytes: bytes('{}'), headers };
    await assertExplained(t, ['POST', path, options], ['unsupported_media_type', field, message]);
  }
  const options = { json: {}, token: api.token };
  await assertExplained(
    t,
    ['POST', '/v1/documents/upload', options],
    [
      'multipart_required',
      'Content-Type',
      /^must be multipart\/form-data; application\/json came$/,
    ],
  );
});

test('a body that is not JSON learns where, and nothing of it is repeated', async (t) => {
  const headers = { 'Content-Type': 'application/json' };
  const cases = [
    [
      '{"token":hunter2}',
      /^must be JSON; (?:it ceases to be JSON at character \d+|another text came)$/,
    ],
    ['{"token":"hunter2"', /^must be JSON; (?:the text ends too early|it ceases .*)$/],
    [' ', /^must be JSON; nothing came$/],
  ] as const;
  for (const [text, message] of cases) {
    const request = ['POST', '/v1/auth/validate-email', { bytes: bytes(text), headers }] as const;
    await assertExplained(t, request, ['invalid_json', 'body', message]);
  }
  const latin = new Uint8Array([0x22, 0xe9, 0x22]);
  await assertExplained(
    t,
    ['POST', '/v1/auth/validate-email', { bytes: latin, headers }],
    ['invalid_json', 'body', /^must be UTF-8; other bytes came$/],
  );
});

test('a wrong token learns what is wrong with its form', async (t) => {
  const reauth = await vault.tokens.reauth(api.caller);
  const [, claims = '', signature = ''] = api.token.split('.');
  const header = Buffer.from('{"alg":"HS256","typ":"at+jwt"}').toString('base64url');
  const cases: readonly (readonly [string | undefined, RegExp])[] = [
    [undefined, /^must be `Bearer` and an access token; nothing came$/],
    ['Basic dXNlcjpwYXNz', /; a value of another scheme /],
    ['Bearer jam', /; a text that is no JWT came$/],
    [`Bearer ${[header, claims, signature].join('.')}`, /; a token that is not signed with RS256 /],
    [`Bearer ${reauth}`, /; a reauthentication token came/],
    [`Bearer ${api.token.slice(0, -8)}AAAAAAAA`, /does not accept any more, came$/],
  ];
  for (const [authorization, message] of cases) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const request = ['GET', '/v1/usage', { headers }] as const;
    await assertExplained(t, request, ['invalid_token', 'Authorization', message]);
  }
});

test('a refused upload and a refused part learn what came and what is allowed', async (t) => {
  const { token } = api;
  const file = { fileName: 'a', fileSize: 100, mimeType: 'application/octet-stream' };
  const create = (change: object) =>
    ['POST', '/v1/uploads', { token, json: { ...file, totalParts: 1, ...change } }] as const;
  await assertExplained(t, create({ mimeType: 'text/html' }), [
    'mime_type_not_allowed',
    'mimeType',
    /^must be one of .*application\/octet-stream.*; text\/html came$/,
  ]);
  await assertExplained(t, create({ fileSize: 2 ** 40 }), [
    'file_too_large',
    'fileSize',
    /^must be at most 5368709120 bytes; 1099511627776 came$/,
  ]);
  await assertExplained(t, create({ totalParts: 9 }), [
    'invalid_total_parts',
    'totalParts',
    /^must be from 1 to 1 for 100 bytes; 9 came$/,
  ]);

  const [, , options] = create({});
  const { body } = await send('POST', `${vault.baseUrl}/v1/uploads`, options);
  const parts = `/v1/uploads/${(body as { sessionId: string }).sessionId}/parts`;
  const content = new Uint8Array(100);
  const digest = (of: Uint8Array) => createHash('sha256').update(of).digest('base64');
  const put = (number: number, sent: Uint8Array<ArrayBuffer>, headers = {}) =>
    ['PUT', `${parts}/${number}`, { token, bytes: sent, headers }] as const;
  await assertExplained(t, put(2, content), [
    'invalid_part_number',
    'partNumber',
    /^must be from 1 to 1; 2 came$/,
  ]);
  await assertExplained(t, put(1, new Uint8Array(7)), [
    'invalid_part_size',
    'Content-Length',
    /^received 7 bytes; expected 100 bytes$/,
  ]);
  const other = { 'Content-Digest': `sha-256=:${digest(new Uint8Array(1))}:` };
  await assertExplained(t, put(1, content, other), [
    'digest_mismatch',
    'Content-Digest',
    /^must be the digest of the body, sha-256=:[^:]+:; another came$/,
  ]);
  await assertExplained(t, put(1, content, { 'Content-Digest': 'sha-256=jam' }), [
    'digest_mismatch',
    'Content-Digest',
    /; another value came$/,
  ]);
  const [method, path, sent] = put(1, content);
  const stored = await send(method, vault.baseUrl + path, sent);
  t.is(
    (stored.body as { checksumSha256: string }).checksumSha256,
    createHash('sha256').update(content).digest('hex'),
  );
  await assertExplained(t, put(1, new Uint8Array(99)), [
    'part_conflict',
    'body',
    /^must be the stored part, 100 bytes; 99 bytes came$/,
  ]);
  await assertExplained(t, put(1, content.with(0, 1)), [
    'part_conflict',
    'body',
    /^must be the stored part, sha-256=:[^:]+:; sha-256=:[^:]+: came$/,
  ]);
});

test('a password that is sent to a login is called so', async (t) => {
  for (const path of ['', '/challenge', '/verify']) {
    const json = { email: 'a@example.org', password: 'correct horse battery staple' };
    const answer = await send('POST', `${vault.baseUrl}/v1/auth/login${path}`, { json });
    t.like(answer, { status: 400, body: { code: 'password_forbidden' } }, path);
    t.notRegex(answer.text, /correct horse/);
  }
});
