import test from 'ava';
import * as fc from 'fast-check';
import { assertIfMatch, etagOf, parseIfMatch } from '../../../app/http/responses/precondition.ts';

/** Returns the code of the refusal of a change to version 3; undefined if it is allowed. */
function refusal(header: string | undefined): unknown {
  try {
    assertIfMatch(parseIfMatch(header), 3);
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

const met = [
  '*',
  ' * ',
  '"3"',
  '  "3"\t',
  '"2", "3"',
  '"2","3","4"',
  ',, "3" ,',
  'W/"3", "3"',
  '"", "3"',
  '"a,b" , "3"',
];
for (const header of met) {
  test(`If-Match: ${JSON.stringify(header)} names version 3`, (t) =>
    t.is(refusal(header), undefined));
}

const failed = [
  '"2"',
  '"33"',
  '"03"',
  '"!"',
  'W/"3"',
  'W/"3", "4"',
  '""',
  '',
  ' ',
  ',',
  '"2,3"',
  '"\xe93"',
  '"W/"',
  `${'"2",'.repeat(2000)}"4"`,
];
for (const header of failed) {
  test(`If-Match: ${JSON.stringify(header.slice(0, 40))} names another version`, (t) =>
    t.is(refusal(header), 'precondition_failed'));
}

const malformed = [
  '3',
  '"3',
  '3"',
  '"3" "4"',
  "'3'",
  'w/"3"',
  'W / "3"',
  '*, "3"',
  '"3", *',
  '**',
  '"a b"',
  '"3";',
  '"3"x',
  'W/',
  '"\x7f"',
  `${','.repeat(10_000)}x`,
  `${'"2",'.repeat(2000)}x`,
];
for (const header of malformed) {
  test(`If-Match: ${JSON.stringify(header.slice(0, 40))} is malformed`, (t) =>
    t.is(refusal(header), 'invalid_request'));
}

test('a change without If-Match is refused', (t) => {
  t.is(refusal(undefined), 'precondition_required');
});

test('only the tag of a version itself meets the precondition, among any others', (t) => {
  const tags = fc.array(fc.nat().map(etagOf));
  fc.assert(
    fc.property(fc.nat(), tags, tags, (version, before, after) => {
      const others = [...before, ...after].filter((tag) => tag !== etagOf(version));
      const named = parseIfMatch([...before, etagOf(version), ...after].join(', '));
      t.notThrows(() => assertIfMatch(named, version));
      const unnamed = parseIfMatch(others.join(', '));
      t.throws(() => assertIfMatch(unnamed, version), { code: 'precondition_failed' });
    }),
  );
});

test('any header is met, fails or is refused as malformed', (t) => {
  const codes = new Set<unknown>([undefined, 'precondition_failed', 'invalid_request']);
  const character = fc.constantFrom('"', 'W', '/', ',', ' ', '*', '3', '\t', '\xff');
  fc.assert(
    fc.property(fc.string({ unit: character }), (header) => {
      t.true(codes.has(refusal(header)));
    }),
  );
});
