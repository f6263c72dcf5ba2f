import { readdir, readFile } from 'node:fs/promises';
import test from 'ava';
import { describeApi, listRoutes } from '../../app/wiring/routes.ts';
import { describeLimits } from '../../app/wiring/limits-page.ts';
import { describeRequests } from '../../app/http/openapi/request-files.ts';
import { toTemplate } from '../../app/http/openapi/operation.ts';
import { describeAccess } from '../../app/http/openapi/access-table.ts';

test('openapi.json matches the routes: npm run openapi updates it', async (t) => {
  const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8');
  t.deepEqual(JSON.parse(committed), JSON.parse(JSON.stringify(describeApi())));
});

test('the full document describes each alias like its main path', (t) => {
  const { paths = {} } = describeApi({ withAliases: true });
  const aliases = listRoutes().flatMap((route) =>
    (route.aliases ?? []).map((alias) => [route.method, route.path, alias] as const),
  );
  t.true(aliases.length > 30);
  for (const [method, path, alias] of aliases) {
    const [main, twin] = [path, alias].map((name) => paths[toTemplate(name)]?.[method]);
    t.is(twin?.summary, main?.summary, alias);
    t.deepEqual(twin?.responses, main?.responses, alias);
    t.not(twin?.operationId, main?.operationId, alias);
  }
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

test('docs/http has the requests of the examples: npm run openapi updates it', async (t) => {
  const directory = new URL('../../docs/http/', import.meta.url);
  const made = describeRequests(describeApi());
  t.deepEqual((await readdir(directory)).sort(), [...made.keys()].sort());
  for (const [name, text] of made) {
    t.is(await readFile(new URL(name, directory), 'utf8'), text, name);
    t.regex(text, /^@baseUrl = /m);
    t.notRegex(text, /eyJ[\w-]+\.[\w-]+\.(?!c2lnbmF0dXJl)/, 'no token');
  }
});

const inOrder = (names: readonly string[]) =>
  names.toSorted((one, other) => one.localeCompare(other));

test('the requests name every operation, and define every variable that they use', (t) => {
  const { paths = {} } = describeApi();
  const texts = [...describeRequests(describeApi()).values()];
  const names = texts.flatMap((text) =>
    [...text.matchAll(/^# @name (\w+)$/gm)].map(([, name = '']) => name),
  );
  const operations = Object.values(paths).flatMap((item) =>
    Object.entries(item ?? {}).filter(([method]) => method !== 'head'),
  );
  const ids = operations.map(([, operation]) => (operation as { operationId: string }).operationId);
  t.deepEqual(inOrder(names), inOrder(ids));
  for (const text of texts) {
    const used = new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name));
    for (const name of used) t.regex(text, new RegExp(`^@${name} = `, 'm'));
  }
});

test('docs/limits.md matches the code: npm run openapi updates it', async (t) => {
  const committed = await readFile(new URL('../../docs/limits.md', import.meta.url), 'utf8');
  t.is(committed, describeLimits(listRoutes()));
});

test('the refusal to delete a sealed document is documented under its status', (t) => {
  const { paths = {} } = describeApi();
  const removal = paths['/v1/documents/{id}']?.delete as unknown as
    | { readonly responses: Record<string, { readonly description: string }> }
    | undefined;
  const { 403: forbidden, 409: conflict } = removal?.responses ?? {};
  t.regex(forbidden?.description ?? '', /`access_denied`[^]*`document_sealed`/);
  t.is(conflict, undefined);
});
