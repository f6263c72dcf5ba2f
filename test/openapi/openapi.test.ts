import { readFile } from 'node:fs/promises';
import test from 'ava';
import { describeApi } from '../../app/app.ts';

test('openapi.json is what the routes say: npm run openapi brings it up to date', async (t) => {
  const committed = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8');
  t.deepEqual(JSON.parse(committed), JSON.parse(JSON.stringify(describeApi())));
});

test('every operation documents its errors, and every protected one its token', (t) => {
  const { paths = {} } = describeApi();
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item ?? {})) {
      const { responses, security } = operation as { responses: object; security: unknown[] };
      const statuses = Object.keys(responses);
      t.is(
        security.length > 0,
        statuses.includes('401') && statuses.includes('403'),
        `${method} ${path}`,
      );
    }
  }
});
