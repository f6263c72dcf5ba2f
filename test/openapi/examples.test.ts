import { readFileSync } from 'node:fs';
import test from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { createChecker } from '../support/openapi/checker.ts';
import { readApiDocument } from '../support/openapi/document.ts';

const document = readApiDocument();
const { checkExample } = createChecker(document);
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

test('every example is as its schema demands', (t) => {
  let count = 0;
  for (const { path, method, operation } of operations) {
    const places = [
      ['requestBody', operation.requestBody?.content],
      ...Object.entries(operation.responses).map(
        ([status, { content }]) => [`responses/${status}`, content] as const,
      ),
    ] as const;
    for (const [place, content] of places) {
      const example = content?.['application/json']?.example;
      if (example === undefined) continue;
      count += 1;
      t.deepEqual(checkExample({ path, method, place, example }), [], `${method} ${path} ${place}`);
    }
  }
  t.true(count >= 80, String(count));
});

test('the operations that an application begins with have examples', (t) => {
  const ofNewcomers = operations.filter(({ operation: { operationId } }) =>
    [
      'register',
      'validateEmail',
      'beginLogin',
      'completeLogin',
      'createUpload',
      'completeUpload',
      'createDocument',
      'listDocuments',
      'certifyDocument',
      'getProof',
      'verifyEntry',
      'createObject',
      'writeObject',
    ].includes(operationId),
  );
  t.is(ofNewcomers.length, 13);
  for (const { operation } of ofNewcomers) {
    const success = operation.responses['200'] ?? operation.responses['201'];
    t.true('example' in (success?.content?.['application/json'] ?? {}), operation.operationId);
  }
  const conflict = (path: string) =>
    document.paths[path]?.['post']?.responses['409']?.content?.['application/json']?.example;
  t.like(conflict('/v1/documents/{id}/certify'), { code: 'document_sealed' });
  t.like(conflict('/v1/sync'), { code: 'sync_conflict', status: 'CONFLICT' });
});

test('no example has a token', (t) => {
  const text = readFileSync(projectFile('app/http/openapi/examples.json'), 'utf8');
  const tokens = text.match(/eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/g) ?? [];
  t.true(tokens.every((token) => token.endsWith('.c2lnbmF0dXJl')));
});
