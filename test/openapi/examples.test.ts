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

/** Operations without an example of a response, each with the reason. */
const withoutExample: ReadonlyMap<string, string> = new Map([
  ['listSigningKeysInternally', 'its response is that of listSigningKeys, for every purpose'],
  [
    'escrowEncryptionKeys',
    'its response has kilobytes of ciphertext, as createEncryptionKey shows',
  ],
  ['abandonDeadLetter', 'its query says what its optional body may say too'],
]);

test('every operation has examples of its path, its body and its response', (t) => {
  const missing = operations.flatMap(({ operation }) => {
    const { operationId, parameters = [], requestBody, responses } = operation;
    if (operationId.endsWith('Head') || withoutExample.has(operationId)) return [];
    const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
    const bodies = [requestBody?.content, ...successes.map(([, { content }]) => content)];
    const inPath = parameters.filter((parameter) => Reflect.get(parameter, 'in') === 'path');
    const places = [
      ...inPath.map((parameter) => ['path', parameter] as const),
      ...bodies.flatMap((content) => Object.entries(content ?? {})),
    ];
    return places
      .filter(([place]) => place === 'path' || /json|form-data/.test(place))
      .filter(([, described]) => !('example' in described))
      .map(([place]) => `${operationId}: ${place}`);
  });
  t.deepEqual(missing, []);
});

test('no example has an entry of an earlier version', (t) => {
  const entries = JSON.stringify(document).match(/\{\\"action\\":.*?\\"v\\":\d+\}/g) ?? [];
  t.true(entries.length > 3);
  t.true(
    entries.every(
      (entry) => entry.endsWith('\\"v\\":2}') && /sealedAt.*issuer|issuer.*sealedAt/.test(entry),
    ),
  );
});

test('no example has a token', (t) => {
  const text = readFileSync(projectFile('app/http/openapi/examples.json'), 'utf8');
  const tokens = text.match(/eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/g) ?? [];
  t.true(tokens.every((token) => token.endsWith('.c2lnbmF0dXJl')));
});
