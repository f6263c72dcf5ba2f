import { readFile } from 'node:fs/promises';
import test from 'ava';
import { describeApi, listRoutes } from '../../app/wiring/routes.ts';
import { describeLimits } from '../../app/wiring/limits-page.ts';
import { describeAccess } from '../../app/http/openapi/access-table.ts';

test('openapi.json matches the routes: npm run openapi updates it', async (t) => {
  const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8');
  t.deepEqual(JSON.parse(committed), JSON.parse(JSON.stringify(describeApi())));
});

test('every operation documents its errors, and every protected one its token', (t) => {
  const { paths = {} } = describeApi();
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item ?? {})) {
      const { responses, security } = operation as {
        responses: Record<string, { description: string }>;
        security: unknown[];
      };
      const refusal = responses['401']?.description ?? '';
      const isProtected = security.length > 0;
      t.is(isProtected, /`(invalid_token|invalid_api_key)`/.test(refusal), `${method} ${path}`);
      t.true(!isProtected || '403' in responses, `${method} ${path}`);
    }
  }
});

test('docs/access.md matches the routes: npm run openapi updates it', async (t) => {
  const committed = await readFile(new URL('../../docs/access.md', import.meta.url), 'utf8');
  t.is(committed, describeAccess(listRoutes()));
});

test('docs/limits.md matches the code: npm run openapi updates it', async (t) => {
  const committed = await readFile(new URL('../../docs/limits.md', import.meta.url), 'utf8');
  t.is(committed, describeLimits(listRoutes()));
});

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly responses: Record<string, { description: string; headers?: Record<string, unknown> }>;
}

test('If-Match, ETag, Link and Content-Digest are documented where they are used', (t) => {
  const { paths = {} } = describeApi();
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item ?? {}).map(([method, operation]) => {
      const { parameters = [], responses } = operation as Operation;
      const names = (where: string) =>
        parameters.filter((each) => each.in === where).map(({ name }) => name);
      const answered = Object.keys(responses['200']?.headers ?? {});
      return { name: `${method} ${path}`, names, responses, answered };
    }),
  );
  const conditional = operations.filter(({ responses }) => '428' in responses);
  t.true(conditional.length >= 6);
  for (const { name, names, answered } of conditional) {
    t.deepEqual(names('header'), ['If-Match'], name);
    t.deepEqual(answered, ['ETag'], name);
  }
  const paged = operations.filter(({ names }) => names('query').includes('cursor'));
  t.true(paged.length >= 8);
  for (const { name, answered } of paged) t.deepEqual(answered, ['Link'], name);
  const find = (name: string) => operations.find((each) => each.name === name);
  t.deepEqual(find('get /v1/documents/{id}')?.answered, ['ETag']);
  const part = find('put /v1/uploads/{sessionId}/parts/{partNumber}');
  t.deepEqual(part?.names('header'), ['Content-Digest']);
});

test('the refusal to delete a sealed document is documented under its status', (t) => {
  const { paths = {} } = describeApi();
  const removal = paths['/v1/documents/{id}']?.delete as unknown as Operation | undefined;
  const { 403: forbidden, 409: conflict } = removal?.responses ?? {};
  t.regex(forbidden?.description ?? '', /`access_denied`[^]*`document_sealed`/);
  t.is(conflict, undefined);
});
