import { readFile } from 'node:fs/promises';
import test from 'ava';
import { describeApi, listRoutes } from '../../app/app.ts';
import { describeAccess } from '../../app/http/access-table.ts';

test('openapi.json is what the routes say: npm run openapi brings it up to date', async (t) => {
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

test('docs/access.md is what the routes ask of a caller: npm run openapi brings it up to date', async (t) => {
  const committed = await readFile(new URL('../../docs/access.md', import.meta.url), 'utf8');
  t.is(committed, describeAccess(listRoutes()));
});
