import test from 'ava';
import * as fc from 'fast-check';
import { verifyAuthor, type AuthorVerdict } from '../../../client/authorship/verify-author.ts';
import { authorshipVectors } from './vectors.ts';

const { cases, changes, identities } = authorshipVectors;
const entries = cases.map(({ entry }) => JSON.parse(entry) as unknown);
const sealed = cases.find(({ verdict }) => verdict === 'known_key');
const [{ fingerprint }] = identities;
const chain = Object.values(changes);

/** Values that may stand anywhere in an entry in place of what belongs there. */
const strange = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\ud800', '__proto__', 'AAAA', `${'A'.repeat(42)}B=`, `${'A'.repeat(85)}B==`),
  fc.constantFrom('=', '2023-06-30T03:34:18.102Z', '9999999-01-01T00:00:00.000Z', 1e308, -0),
);

type Path = readonly (string | number)[];

/** Returns the path of every member of a value, and of the value itself. */
function pathsOf(value: unknown, at: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...at, name]))];
}

/** Returns a copy of a value with another member at a path; without one if it is undefined. */
function replaceAt(value: unknown, [name, ...rest]: Path, member: unknown): unknown {
  if (name === undefined) return member;
  const members = value as Readonly<Record<string, unknown>>;
  return { ...members, [name]: replaceAt(members[name], rest, member) };
}

const changed = fc.constantFrom(...entries).chain((entry) =>
  fc.record({
    entry: fc.constant(entry),
    path: fc.constantFrom(...pathsOf(entry)),
    member: fc.option(strange, { nil: undefined }),
  }),
);

test('an entry with anything in any place gets a verdict', (t) => {
  const property = fc.property(changed, ({ entry, path, member }) => {
    const entryCanonical = JSON.stringify(replaceAt(entry, path, member)) ?? '';
    return typeof verifyAuthor({ entryCanonical }, { fingerprint }).standing === 'string';
  });
  fc.assert(property, { numRuns: 3000 });
  t.pass();
});

test('changes of the identity with anything in any place are judged too', (t) => {
  const parsed = chain.map((text) => JSON.parse(text) as unknown);
  const third = cases.find(({ name }) => name === 'third after first, second, third');
  const followed = { entryCanonical: third?.entry ?? t.fail() };
  const given = fc.record({ path: fc.constantFrom(...pathsOf(parsed[1])), member: strange });
  const property = fc.property(given, ({ path, member }) => {
    const entryCanonical = JSON.stringify(replaceAt(parsed[1], path, member)) ?? '';
    const identityChanges = [chain[0], entryCanonical, chain[2]].map((text) => ({
      entryCanonical: text ?? '',
    }));
    return typeof verifyAuthor(followed, { fingerprint, identityChanges }).standing === 'string';
  });
  fc.assert(property, { numRuns: 500 });
  t.pass();
});

test('no changed statement has its author', (t) => {
  const entry = JSON.parse(sealed?.entry ?? t.fail()) as unknown;
  const paths = pathsOf(entry).filter(([first, second]) => first === 'data' && second === 'author');
  const given = fc.record({ path: fc.constantFrom(...paths), member: strange });
  const property = fc.property(given, ({ path, member }) => {
    const entryCanonical = JSON.stringify(replaceAt(entry, path, member));
    fc.pre(entryCanonical !== JSON.stringify(entry));
    t.not(verifyAuthor({ entryCanonical }, { fingerprint }).standing, 'known_key');
  });
  fc.assert(property, { numRuns: 2000 });
});

test('what is no entry, or nested deeply, gets a verdict', (t) => {
  const malformed: AuthorVerdict = { standing: 'invalid', reason: 'statement_malformed' };
  const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const entry = sealed?.entry ?? t.fail();
  t.deepEqual(
    verifyAuthor({ entryCanonical: entry.replace(/"statement":{.*?}/, `"statement":${nested}`) }),
    malformed,
  );
  t.deepEqual(verifyAuthor({ entryCanonical: entry.replace(/"v":1/, `"v":${nested}`) }), malformed);
  for (const entryCanonical of ['', '{', 'null', '5', '"author"', nested, '{"data":1}']) {
    t.deepEqual(verifyAuthor({ entryCanonical }), { standing: 'vault_word' });
  }
  t.deepEqual(verifyAuthor({ entryCanonical: '{"data":{"author":1}}' }), malformed);
});

test('an issuer that has no UTF-8 form is malformed, though entry and statement agree', (t) => {
  const entry = sealed?.entry ?? t.fail();
  const entryCanonical = entry.replaceAll('https://vault.example', '\\ud800');
  const malformed: AuthorVerdict = { standing: 'invalid', reason: 'statement_malformed' };
  t.deepEqual(verifyAuthor({ entryCanonical }), malformed);
});
