import { readFileSync } from 'node:fs';
import test from 'ava';
import { errorCodes } from '../../app/errors/error-codes.ts';
import { tags } from '../../app/http/routing/tags.ts';
import { projectFile } from '../../app/dev/files/project.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

interface Place {
  readonly where: string;
  readonly value: { readonly [name: string]: Json };
}

const document = JSON.parse(readFileSync(projectFile('openapi.json'), 'utf8')) as {
  [name: string]: Json;
};

/** Lists every object of the document with the path to it. */
function places(value: Json, where = ''): Place[] {
  if (value === null || typeof value !== 'object') return [];
  const inner = Object.entries(value).flatMap(([name, each]) => places(each, `${where}/${name}`));
  return Array.isArray(value) ? inner : [{ where, value }, ...inner];
}

const all = places(document).filter(({ where }) => !/\/examples?(\/|$)/.test(where));

test('every property and every parameter is described', (t) => {
  const properties = all.filter(({ where }) => /\/properties\/[^/]+$/.test(where));
  t.true(properties.length > 350);
  const silent = properties.filter(({ value }) => typeof value.description !== 'string');
  t.deepEqual(
    silent.map(({ where }) => where),
    [],
  );
  const parameters = all.filter(({ value }) => 'in' in value && 'schema' in value);
  t.true(parameters.length > 100);
  t.deepEqual(
    parameters.filter(({ value }) => typeof value.description !== 'string'),
    [],
  );
});

test('every object has a name in components', (t) => {
  const isNamed = /^\/components\/schemas\/\w+$/;
  const nameless = all.filter(
    ({ where, value }) => 'properties' in value && value.type === 'object' && !isNamed.test(where),
  );
  t.deepEqual(
    nameless.map(({ where }) => where),
    [],
  );
  const names = Object.keys((document.components as { schemas: object }).schemas);
  for (const name of names) t.regex(name, /^[A-Z][A-Za-z]+$/);
  t.deepEqual(
    names.filter((name) => /Output$|__schema/.test(name)),
    [],
  );
});

test('patterns are portable: no Unicode classes, no lookaround, no escapes of one engine', (t) => {
  const patterns = all.flatMap(({ value }) =>
    typeof value.pattern === 'string' ? [value.pattern] : [],
  );
  t.true(patterns.length > 20);
  for (const pattern of patterns) t.notRegex(pattern, /\\[pPwWdDsSbBux]|\(\?[^:]/, pattern);
});

test('limits are integers with bounds and a default', (t) => {
  const limits = all.filter(({ value }) => value.in === 'query' && value.name === 'limit');
  t.true(limits.length > 10);
  for (const { where, value } of limits) {
    t.like(value.schema, { type: 'integer', minimum: 1, maximum: 1000, default: 100 }, where);
  }
});

test('every integer has a format, and none has the bounds of a double', (t) => {
  const integers = all.filter(
    ({ value, where }) => value.type === 'integer' && where.startsWith('/components/schemas/'),
  );
  t.true(integers.length > 80);
  for (const { where, value } of integers) {
    t.true(value.format === 'int32' || value.format === 'int64', where);
  }
  const bounds = all.flatMap(({ value }) => [value.minimum, value.maximum]);
  t.false(bounds.some((bound) => Math.abs(Number(bound ?? 0)) === Number.MAX_SAFE_INTEGER));
});

test('error codes are an enumeration, each with its meaning', (t) => {
  const { schemas } = document.components as { schemas: Record<string, Record<string, Json>> };
  t.deepEqual(schemas['ErrorCode']?.enum, [...errorCodes]);
  const meanings = schemas['ErrorCode']?.['x-enumDescriptions'] as Record<string, string>;
  for (const code of errorCodes) t.regex(meanings[code] ?? '', /\.$/, code);
});

test('groups are described, in the order of a newcomer', (t) => {
  const described = document.tags as { readonly name: string; readonly description: string }[];
  t.deepEqual(
    described.map(({ name }) => name),
    Object.keys(tags),
  );
  for (const { description } of described) t.regex(description, /\.$/);
});

test('operations are named once each', (t) => {
  const names = all.flatMap(({ value: { operationId } }) =>
    typeof operationId === 'string' ? [operationId] : [],
  );
  t.true(names.length > 90);
  t.is(new Set(names).size, names.length);
  for (const name of names) t.regex(name, /^[a-z][A-Za-z]+$/);
});
