import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createAccount, logIn } from '../../support/accounts/test-account.ts';
import { type TestVault, startReadyVault } from '../../support/vault/vault.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send, type SendOptions } from '../../support/http/send.ts';

let vault: TestVault;
let token: string;

test.before(async () => {
  vault = await startReadyVault();
  token = await logIn(vault, await createAccount(vault));
});
test.after.always(() => vault.stop());

const toRegister = (options: SendOptions) =>
  send('POST', `${vault.baseUrl}/v1/auth/register`, options);
const salt = '00'.repeat(32);
const verifier = '3'.repeat(64);
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

const invalidJson = { status: 400, code: 'invalid_json' };
const invalid = { status: 400, code: 'validation_failed' };

/** [the fault, the body as it is sent, the refusal] */
const bodies: [string, string | Buffer, { status: number; code: string }][] = [
  ['nothing at all', '', invalidJson],
  ['truncated JSON', '{"email":"a@example.org","sal', invalidJson],
  ['single quotes', "{'email':1}", invalidJson],
  ['text after the value', '{}{}', invalidJson],
  ['a byte order mark', '\ufeff{}', invalidJson],
  ['NaN', '{"email":NaN}', invalidJson],
  ['invalid UTF-8', Buffer.from('{"email":"\xff\xfe"}', 'latin1'), invalidJson],
  ['an overlong UTF-8 form', Buffer.from('{"email":"\xc0\xaf"}', 'latin1'), invalidJson],
  ['UTF-16', Buffer.from('{"email":"a"}', 'utf16le'), invalidJson],
  ['NUL in a string', '{"email":"a\\u0000@example.org"}', invalidJson],
  ['NUL in a key', '{"a\\u0000":1}', invalidJson],
  ['a lone high surrogate', '{"email":"\\ud800"}', invalidJson],
  ['a lone low surrogate in a key', '{"\\udc00":1}', invalidJson],
  ['surrogates in the wrong order', '{"email":"\\udc00\\ud800"}', invalidJson],
  ['__proto__', '{"__proto__":{"email":"a@example.org"}}', invalidJson],
  ['a nested __proto__', '{"email":{"__proto__":1}}', invalidJson],
  ['65 levels of nesting', nested(65), invalidJson],
  ['a number', '1', invalid],
  ['null', 'null', invalid],
  ['a string', '"a"', invalid],
  ['an array', '[]', invalid],
  ['missing fields', '{}', invalid],
  ['constructor', '{"constructor":{"prototype":{}}}', invalid],
  ['wrong types', '{"email":1,"salt":[],"verifier":{}}', invalid],
  ['null fields', '{"email":null,"salt":null,"verifier":null}', invalid],
  ['a repeated field', '{"email":"a","email":1,"salt":"","verifier":""}', invalid],
  ['a huge number', '{"email":1e999}', invalid],
  [
    'an unknown field',
    JSON.stringify({ email: 'a@example.org', salt, verifier, marmalade: true }),
    invalid,
  ],
  [
    '2 MiB',
    JSON.stringify({ email: 'a'.repeat(2 ** 21) }),
    { status: 413, code: 'body_too_large' },
  ],
  ['one byte over 16 KiB', ' '.repeat(2 ** 14 + 1), { status: 413, code: 'body_too_large' }],
  ['16 KiB of spaces', ' '.repeat(2 ** 14), invalidJson],
  ['16,000 open brackets', '['.repeat(16_000), invalidJson],
  ['2,000 levels of nesting', nested(2_000), invalidJson],
];

for (const [what, bytes, refusal] of bodies) {
  test(`a body is refused: ${what}`, async (t) => {
    const headers = { 'Content-Type': 'application/json' };
    assertError(t, await toRegister({ bytes: Buffer.from(bytes), headers }), refusal);
  });
}

/** Valid JSON that is refused, with the reason that the refusal states. */
const unusable: [string, RegExp][] = [
  ['{"email":"a\\u0000@example.org"}', /NUL/],
  ['{"\\udc00":1}', /surrogate/],
  ['{"email":{"__proto__":1}}', /__proto__/],
  [nested(65), /64/],
];
test('a refusal of valid JSON states its reason', async (t) => {
  const headers = { 'Content-Type': 'application/json' };
  for (const [text, why] of unusable) {
    const answer = await toRegister({ bytes: Buffer.from(text), headers });
    t.regex(String(assertError(t, answer, invalidJson).details?.[0]?.message), why);
  }
  const none = await toRegister({ bytes: Buffer.from('{'), headers });
  const [detail] = assertError(t, none, invalidJson).details ?? [];
  t.regex(detail?.message ?? '', /^must be JSON; /);
});

/** Values that are invalid in every field, sent while all other fields are valid. */
const badStrings = ['', ' ', 'zz', '0x10', '-1', '1.5', '\u0661', 'a'.repeat(10_000), '\n', '%00'];
for (const field of ['email', 'salt', 'verifier']) {
  for (const bad of [...badStrings, 7, true, null, [], {}, [salt]]) {
    test(`a bad ${field} is refused: ${JSON.stringify(bad).slice(0, 20)}`, async (t) => {
      const json = { email: 'a@example.org', salt, verifier, [field]: bad };
      const { details } = assertError(t, await toRegister({ json }), invalid);
      t.true(details?.every(({ path }) => path === field));
    });
  }
}

test('a field is called missing only if it is absent', async (t) => {
  const toOpen = async (json: object) => {
    const answer = await send('POST', `${vault.baseUrl}/v1/uploads`, { token, json });
    return assertError(t, answer, invalid).details?.find(({ path }) => path === 'fileSize')
      ?.message;
  };
  t.is(await toOpen({}), 'is required');
  for (const fileSize of ['10', null, [10], {}, true]) {
    t.regex(String(await toOpen({ fileSize })), /expected number/, JSON.stringify(fileSize));
  }
  const twice = await send('GET', `${vault.baseUrl}/v1/documents?limit=1&limit=2`, { token });
  t.regex(String(assertError(t, twice, invalid).details?.[0]?.message), /expected string/);
});

const unsupported = { status: 415, code: 'unsupported_media_type' };
const types: Record<string, Record<string, string>> = {
  'no content type': {},
  'plain text': { 'Content-Type': 'text/plain' },
  'a form': { 'Content-Type': 'application/x-www-form-urlencoded' },
  multipart: { 'Content-Type': 'multipart/form-data; boundary=x' },
  'a JSON-like media type': { 'Content-Type': 'application/jsonp' },
  'another charset': { 'Content-Type': 'application/json; charset=utf-16' },
  gzip: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' },
  'an unknown encoding': { 'Content-Type': 'application/json', 'Content-Encoding': 'x' },
};
for (const [what, headers] of Object.entries(types)) {
  test(`a body is refused for its headers: ${what}`, async (t) => {
    const bytes = Buffer.from('{}');
    assertError(t, await toRegister({ bytes, headers }), unsupported);
  });
}

test('application/json is accepted in any case and with charset=utf-8', async (t) => {
  for (const type of ['Application/JSON', 'application/json;charset="UTF-8"']) {
    const headers = { 'Content-Type': type };
    const answer = await send('POST', `${vault.baseUrl}/v1/auth/validate-email`, {
      bytes: Buffer.from('{"token":"x"}'),
      headers,
    });
    t.is(answer.status, 200, type);
  }
});

const id = randomUUID();
const invalidRequest = { status: 400, code: 'invalid_request' };
const urls: Record<string, { status: number; code: string }> = {
  '/v1/documents?limit=0': invalid,
  '/v1/documents?limit=1001': invalid,
  '/v1/documents?limit=-1': invalid,
  '/v1/documents?limit=1e2': invalid,
  '/v1/documents?limit=abc': invalid,
  '/v1/documents?limit=': invalid,
  '/v1/documents?limit=10&limit=10': invalid,
  '/v1/documents?cursor=abc': invalid,
  '/v1/documents?marmalade=1': invalid,
  '/v1/documents?__proto__=1': invalid,
  '/v1/documents?limit[]=1': invalid,
  [`/v1/documents/${id}?marmalade=1`]: invalid,
  '/v1/documents?limit=%zz': invalidRequest,
  '/v1/documents?cursor=%00': invalidRequest,
  '/v1/documents?cursor=%E0%A4%A': invalidRequest,
  '/v1/documents?cursor=%ED%A0%80': invalidRequest,
  '/v1/documents/abc': invalid,
  '/v1/documents/1': invalid,
  [`/v1/documents/${id}0`]: invalid,
  [`/v1/documents/{${id}}`]: invalid,
  '/v1/documents/..%2f..%2fetc%2fpasswd': invalid,
  '/v1/documents/%zz': invalidRequest,
  '/v1/documents/%00': invalidRequest,
  '/v1/documents/%E0%A4%A': invalidRequest,
  '/v1/documents/%': invalidRequest,
  '/v1/uploads/abc': invalid,
  '/v1/audit/proof/abc': invalid,
  '/v1/audit/proof/abc/verify': invalid,
  '/v1/documents/abc/hash': invalid,
};
for (const [url, refusal] of Object.entries(urls)) {
  test(`GET ${url} is refused`, async (t) => {
    const answer = await send('GET', `${vault.baseUrl}${url}`, { token });
    const { message, details = [] } = assertError(t, answer, refusal);
    t.false(/marmalade|abc|passwd/.test(message));
    t.is(details.length > 0, refusal.code === 'validation_failed');
  });
}

const parts: Record<string, { status: number; code: string }> = {
  [`/v1/uploads/abc/parts/1`]: invalid,
  [`/v1/uploads/${id}/parts/0`]: invalid,
  [`/v1/uploads/${id}/parts/01`]: invalid,
  [`/v1/uploads/${id}/parts/1001`]: invalid,
  [`/v1/uploads/${id}/parts/1.0`]: invalid,
  [`/v1/uploads/${id}/parts/-1`]: invalid,
  [`/v1/uploads/${id}/parts/x`]: invalid,
  [`/v1/uploads/${id}/parts/1`]: { status: 404, code: 'not_found' },
};
for (const [url, refusal] of Object.entries(parts)) {
  test(`PUT ${url.replace(id, '<id>')} is refused`, async (t) => {
    assertError(
      t,
      await send('PUT', `${vault.baseUrl}${url}`, { token, bytes: Buffer.of(1) }),
      refusal,
    );
  });
}

const fileNames = [
  '../a',
  '..',
  '.',
  'a/b',
  'a\\b',
  '/etc/passwd',
  'a\nb',
  'a\u0085b',
  'a\u2028b',
  '',
  'ä'.repeat(128),
];
for (const fileName of fileNames) {
  test(`a file name is refused: ${JSON.stringify(fileName).slice(0, 20)}`, async (t) => {
    const json = { fileName, fileSize: 1, mimeType: 'application/octet-stream', totalParts: 1 };
    const answer = await send('POST', `${vault.baseUrl}/v1/uploads`, { token, json });
    t.is(assertError(t, answer, invalid).details?.[0]?.path, 'fileName');
  });
}

test('a refusal names the invalid fields and repeats no value', async (t) => {
  const json = { email: 'marmalade', salt: 'jam', verifier: 'honey', 'b\u0001d <field>': 1 };
  const answer = await toRegister({ json });
  const { details } = assertError(t, answer, invalid);
  t.deepEqual(details?.map(({ path }) => path).sort(), ['?', 'email', 'salt', 'verifier']);
  t.notRegex(answer.text, /marmalade|jam|honey/);
});

const secretNames = [
  'Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSBhcyBrZXk=',
  'b'.repeat(43),
  '0'.repeat(64),
  '7'.repeat(7),
];
for (const name of secretNames) {
  test(`a field name that may be a secret is not repeated: ${name}`, async (t) => {
    const answer = await toRegister({ json: { [name]: 1 } });
    const { details } = assertError(t, answer, invalid);
    t.true(details?.some(({ path, message }) => path === '?' && message === 'unknown field'));
    t.false(answer.text.includes(name.slice(0, 7)));
  });
}
