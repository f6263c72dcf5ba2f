import test from 'ava';
import { createChecker, type Exchange } from '../support/openapi/checker.ts';
import { readApiDocument, type ApiDocument } from '../support/openapi/document.ts';

/** The response to a second certification, as a vault sent it. */
const conflict: Exchange = {
  method: 'POST',
  url: '/api/v1/documents/01a2075f-2d3c-7a40-9b0a-7f1f6f6d3a11/certify?',
  requestHeaders: new Headers(),
  requestText: undefined,
  status: 409,
  headers: new Headers({
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': '7decadb2-13b0-4372-8f3f-2d1d0b9f7e52',
    'cache-control': 'no-store',
  }),
  text: JSON.stringify({
    statusCode: 409,
    message: 'The document is sealed.',
    error: 'Conflict',
    timestamp: '2026-11-23T07:48:26.350Z',
    path: '/api/v1/documents/01a2075f-2d3c-7a40-9b0a-7f1f6f6d3a11/certify',
    code: 'document_sealed',
    requestId: '7decadb2-13b0-4372-8f3f-2d1d0b9f7e52',
    proofId: '01a2075f-30a1-7c11-b3ce-4b8f5a7b6e20',
  }),
};

/** Returns openapi.json with every occurrence of a text replaced. */
function lie(from: string, to: string): ApiDocument {
  const text = JSON.stringify(readApiDocument());
  if (!text.includes(from)) throw new Error(`the document has no ${from}`);
  return JSON.parse(text.replaceAll(from, to)) as ApiDocument;
}

const faultsOf = (document: ApiDocument, exchange = conflict) =>
  createChecker(document).check(exchange);

test('openapi.json describes the second certification', (t) => {
  t.deepEqual(faultsOf(readApiDocument()), []);
});

test('an error code that the document leaves out is noticed', (t) => {
  t.deepEqual(faultsOf(lie('"document_sealed","document_expired"', '"document_expired"')), [
    'document_sealed is not described',
  ]);
});

test('a member that the document leaves out is noticed', (t) => {
  const faults = faultsOf(
    lie('"#/components/schemas/DocumentSealedError"', '"#/components/schemas/ApiError"'),
  );
  t.true(
    faults.some((fault) => fault.includes('"additionalProperty":"proofId"')),
    faults.join(),
  );
});

test('a status that the document leaves out is noticed', (t) => {
  t.deepEqual(faultsOf(lie('"409":{', '"499":{')), [
    'the status is not described (document_sealed)',
  ]);
});

test('a header that the document leaves out is noticed', (t) => {
  const headers = new Headers(conflict.headers);
  headers.set('retry-after', '5');
  t.deepEqual(faultsOf(readApiDocument(), { ...conflict, headers }), [
    'retry-after is not described',
  ]);
});

test('a header and a member that a response leaves out are noticed', (t) => {
  const headers = new Headers({ 'content-type': 'application/json' });
  t.deepEqual(faultsOf(readApiDocument(), { ...conflict, headers }), ['x-request-id is missing']);
  const { path: _path, ...rest } = JSON.parse(conflict.text ?? '') as Record<string, unknown>;
  const faults = faultsOf(readApiDocument(), { ...conflict, text: JSON.stringify(rest) });
  t.true(
    faults.some((fault) => fault.includes("required property 'path'")),
    faults.join(),
  );
});

test('a success without a header that the document demands is noticed', (t) => {
  const headers = new Headers({ 'content-type': 'application/json', 'x-request-id': 'a' });
  const faults = faultsOf(readApiDocument(), {
    ...conflict,
    method: 'GET',
    url: '/v1/sync',
    status: 200,
    headers,
    text: '{"objects":[],"total":0,"nextCursor":"0"}',
  });
  t.deepEqual(faults, ['succeeded without X-Device-Id, which is described as required']);
});

test('the error body is checked on paths and methods that no operation has', (t) => {
  const nowhere = { ...conflict, url: '/v1/nowhere', status: 404 };
  t.true(faultsOf(readApiDocument(), nowhere).length > 0);
  t.true(faultsOf(readApiDocument(), { ...nowhere, method: 'PUT', url: '/health' }).length > 0);
});
