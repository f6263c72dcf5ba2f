import test from 'ava';
import {
  readApiDocument,
  type ApiHeader,
  type ApiOperation,
  type ApiParameter,
} from '../support/openapi/document.ts';

const document = readApiDocument();
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
);

function resolve<T extends object>(value: T | { readonly $ref: string }): T {
  if (!('$ref' in value)) return value;
  const [kind, name] = value.$ref.split('/').slice(2);
  return document.components[kind as 'headers'][name ?? ''] as T;
}

function parametersOf({ parameters = [] }: ApiOperation): ApiParameter[] {
  return parameters.map((each) => resolve<ApiParameter>(each));
}

/** Returns the header parameters of an operation but X-Request-Id, which every operation has. */
function headersOf(operation: ApiOperation): string[] {
  return parametersOf(operation)
    .filter((each) => each.in === 'header' && each.name !== 'X-Request-Id')
    .map(({ name, required }) => `${name}${required === true ? '' : '?'}`);
}

function answered(operation: ApiOperation, status: string): Record<string, ApiHeader> {
  const headers = Object.entries(operation.responses[status]?.headers ?? {});
  return Object.fromEntries(headers.map(([name, header]) => [name, resolve<ApiHeader>(header)]));
}

const find = (name: string) => {
  const found = operations.find((each) => each.name === name);
  if (found === undefined) throw new Error(`${name} is not described`);
  return found.operation;
};

test('the routes of synchronised objects name every header that they need', (t) => {
  const writing = ['X-Sync-Request-Id?', 'X-Schema-Version', 'X-Device-Id'];
  t.deepEqual(headersOf(find('post /v1/sync')), writing);
  t.deepEqual(headersOf(find('post /v1/sync/create')), writing);
  for (const path of ['', '/{objectId}', '/{objectId}/history', '/{objectId}/export']) {
    t.deepEqual(headersOf(find(`get /v1/sync${path}`)), ['X-Device-Id'], path);
  }
  t.deepEqual(headersOf(find('get /v1/sync/events')), ['Last-Event-ID?', 'X-Device-Id']);
  const { responses } = find('post /v1/sync');
  for (const status of Object.keys(responses)) {
    t.true('X-Schema-Version-Supported' in answered(find('post /v1/sync'), status), status);
  }
});

test('If-Match, ETag, Link and Content-Digest are documented where they are used', (t) => {
  const conditional = operations.filter(({ operation }) => '428' in operation.responses);
  t.is(conditional.length, 5);
  for (const { name, operation } of conditional) {
    t.deepEqual(headersOf(operation), ['If-Match?'], name);
    t.true(answered(operation, '200')['ETag']?.required, name);
  }
  const paged = operations.filter(({ operation }) =>
    parametersOf(operation).some((each) => each.in === 'query' && each.name === 'cursor'),
  );
  t.true(paged.length >= 8);
  for (const { name, operation } of paged) t.true('Link' in answered(operation, '200'), name);
  t.true(answered(find('get /v1/documents/{id}'), '200')['ETag']?.required);
  const part = find('put /v1/uploads/{sessionId}/parts/{partNumber}');
  t.deepEqual(headersOf(part), ['Content-Digest?']);
});

test('every response names its X-Request-Id, 401 how to log in, 429 and 503 when to retry', (t) => {
  for (const { name, operation } of operations) {
    for (const status of Object.keys(operation.responses)) {
      const headers = answered(operation, status);
      t.true(headers['X-Request-Id']?.required, `${name} ${status}`);
      if (status === '401') t.true(headers['WWW-Authenticate']?.required, name);
      if (['429', '503'].includes(status)) t.true(headers['Retry-After']?.required, name);
    }
  }
});

test('every route that takes an Idempotency-Key says so', (t) => {
  const keyed = operations
    .filter(({ operation }) => headersOf(operation).includes('Idempotency-Key?'))
    .map(({ name }) => name);
  t.deepEqual(keyed, [
    'post /v1/uploads',
    'post /v1/documents/{id}/share',
    'post /v1/documents',
    'post /v1/documents/{id}/versions',
    'post /v1/jobs',
  ]);
});
