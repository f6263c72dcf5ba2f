import { readFile } from 'node:fs/promises';
import test from 'ava';
import { describeActions } from '../../app/audit-trail/actions-page.ts';
import { eventKinds } from '../../app/audit-trail/event.ts';
import { workersAndCommands } from '../../app/audit-trail/workers.ts';
import { listRoutes } from '../../app/wiring/routes.ts';

test('docs/audit-actions.md matches the code; if not, run npm run openapi', async (t) => {
  const page = new URL('../../docs/audit-actions.md', import.meta.url);
  t.is(await readFile(page, 'utf8'), describeActions(listRoutes()));
});

test('every route that is no mere read states the entries that it leaves', (t) => {
  const changing = listRoutes().filter(({ method }) => method !== 'get');
  t.true(changing.length > 30);
  t.deepEqual(
    changing.filter(({ audit }) => audit === undefined).map(({ path }) => path),
    [],
  );
});

test('every action is left by a route, a worker or a command', (t) => {
  const causes = [...listRoutes().flatMap(({ audit }) => audit ?? []), ...workersAndCommands];
  const left = new Set<string>(causes.flatMap(({ actions }) => actions));
  t.deepEqual(
    Object.keys(eventKinds).filter((action) => !left.has(action)),
    [],
  );
});

test('a route or worker without entries says why', (t) => {
  const causes = [...listRoutes().flatMap(({ audit }) => audit ?? []), ...workersAndCommands];
  const silent = causes.filter(({ actions }) => actions.length === 0);
  t.true(silent.length > 3);
  for (const { note } of silent) t.regex(note ?? '', /^\w/);
});
