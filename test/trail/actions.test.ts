import { readFileSync } from 'node:fs';
import test from 'ava';
import { listRoutes } from '../../app/app.ts';
import { documentedActions, documentedRoutes, documentedWorkers } from './actions-table.ts';

const source = readFileSync(new URL('../../app/trail/event.ts', import.meta.url), 'utf8');
/** The members of the type AuditAction, which are nowhere else. */
const actions = [...source.matchAll(/^ {2}\| '([a-z_]+\.[a-z_]+)'/gm)].map(([, name = '']) => name);

const sorted = (names: Iterable<string>) => [...names].toSorted();

test('every route that is no mere read is documented with the entries it leaves, and no other', (t) => {
  const routes = listRoutes()
    .filter(({ method }) => method !== 'get')
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  t.true(routes.length > 30);
  t.deepEqual(sorted(documentedRoutes.map(({ name }) => name)), sorted(routes));
});

test('every action is documented once, and no other', (t) => {
  t.true(actions.length > 30);
  t.deepEqual(sorted(documentedActions.map(({ action }) => action)), sorted(actions));
});

test('every action is left by a route, a worker or a command, and none is invented there', (t) => {
  const causes = [...documentedRoutes, ...documentedWorkers];
  const left = new Set(
    causes.flatMap((cause) => cause.actions.filter((name) => name.includes('.'))),
  );
  t.deepEqual(sorted(left), sorted(actions));
});

test('what leaves no entry says why', (t) => {
  for (const { name, text, actions: left } of documentedRoutes) {
    if (left.length === 0) t.regex(text, /^none( of its own)?: ./, name);
  }
});
