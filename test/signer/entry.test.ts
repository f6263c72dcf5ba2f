import test from 'ava';
import { EntryError, parseEntry } from '../../signer/protocol/entry.ts';
import { canonicalText, sampleEntry } from './sample-entry.ts';

test('a canonical text parses to its entry', (t) => {
  const entry = sampleEntry();
  t.deepEqual(parseEntry(canonicalText(entry)), entry);
});

test('a system event may have no tenant, owner, actor id or request id', (t) => {
  const entry = sampleEntry({
    actor: { type: 'system', id: null },
    tenant: null,
    requestId: null,
    resource: { type: 'backlog', id: 'all', owner: null },
  });
  t.deepEqual(parseEntry(canonicalText(entry)), entry);
});

const canonical = canonicalText(sampleEntry());
const notCanonical: Record<string, string> = {
  'an empty text': '',
  'a text that is not JSON': 'evil',
  'a space': canonical.replace(',', ', '),
  'a trailing newline': `${canonical}\n`,
  'members in another order': JSON.stringify(sampleEntry()),
  'a duplicate member': canonical.replace('"v":2', '"v":2,"v":2'),
  'an unnecessary escape': canonical.replace('"success"', '"succes\\u0073"'),
  'a number in another form': canonical.replace('"v":2', '"v":2.0'),
  'a lone surrogate': canonical.replace('"success"', '"\\ud800"'),
  'a number beyond the range of doubles': canonical.replace('"v":2', '"v":2e999'),
};
for (const [name, text] of Object.entries(notCanonical)) {
  test(`${name} is not canonical`, (t) => {
    t.is(t.throws(() => parseEntry(text), { instanceOf: EntryError })?.code, 'not_canonical');
  });
}

const { salt: _, ...unsalted } = sampleEntry();
const notEntries: Record<string, unknown> = {
  'a bare string': 'text',
  'an array': [sampleEntry()],
  'an entry without salt': unsalted,
  'an entry with an unknown member': { ...sampleEntry(), extra: 1 },
  'an entry with a __proto__ member': JSON.parse(canonical.replace('{', '{"__proto__":{},')),
  'an entry of another version': { ...sampleEntry(), v: 1 },
  'an entry whose id is no UUID': { ...sampleEntry(), id: '1' },
  'an entry with a short salt': { ...sampleEntry(), salt: 'AAAA' },
  'an entry without milliseconds': { ...sampleEntry(), timestamp: '2026-01-01T00:00:00Z' },
  'an entry with a local time': { ...sampleEntry(), timestamp: '2026-01-01T00:00:00.000+01:00' },
  'an entry of an impossible day': { ...sampleEntry(), timestamp: '2026-02-30T00:00:00.000Z' },
  'an entry numbered 0': { ...sampleEntry(), seq: 0 },
  'an entry whose data is an array': { ...sampleEntry(), data: [] },
  'an entry with an unknown actor type': { ...sampleEntry(), actor: { type: 'root', id: 'x' } },
};
for (const [name, value] of Object.entries(notEntries)) {
  test(`${name} is not an entry`, (t) => {
    const error = t.throws(() => parseEntry(canonicalText(value)), { instanceOf: EntryError });
    t.is(error?.code, 'not_an_entry');
  });
}
