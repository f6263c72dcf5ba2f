import { hash } from 'node:crypto';
import { valid, wrongBoth, wrongHash, wrongSignature, type ProofCase } from './case.ts';
import { canonical, entry, id, proof, prove } from './signing.ts';

const text = proof.entryCanonical;
const notCanonical = wrongHash('not_canonical');
const notAnEntry = wrongHash('not_an_entry');
const otherId = wrongHash('id_mismatch');

/** Creates a case whose text, whatever it is, has a right hash and a trusted key's signature. */
function signed(
  name: string,
  description: string,
  entryCanonical: string,
  expected: Pick<ProofCase, 'expected' | 'reason'> = notCanonical,
): ProofCase {
  return { name: `entry-${name}`, description, ...expected, proof: prove(entryCanonical) };
}

function withData(data: object): string {
  return canonical({ ...entry, data });
}

/** Returns the entry's text with this text in place of its data. */
function withDataText(data: string): string {
  return canonical({ ...entry, data: null }).replace('"data":null', () => `"data":${data}`);
}

function numberCase(name: string, number: string): ProofCase {
  return signed(
    `number-${name}`,
    `The number ${number}, which has another form`,
    withDataText(`{"n":${number}}`),
  );
}

function sealedAtCase(name: string, sealedAt: unknown): ProofCase {
  return signed(
    `sealed-at-${name}`,
    `sealedAt is ${JSON.stringify(sealedAt)}`,
    canonical({ ...entry, sealedAt }),
    notAnEntry,
  );
}

const escapes = withData({ t: '\b\t\n\f\r\0\u001f"\\/\u007f\u2028\u2029' });
const composed = withData({ name: 'Gr\u00f6\u00dfe \u212b' });
const decomposed = withData({ name: 'Gro\u0308\u00dfe \u00c5' });

/** Entries in a form other than the canonical one, and texts that are no entry. */
export const entryCases: ProofCase[] = [
  signed('indented', 'White space between members', JSON.stringify(entry, null, 1)),
  signed('space', 'A space after a colon', text.replace(':', ': ')),
  signed('leading-space', 'A space before it', ` ${text}`),
  signed('line-feed', 'A line feed after it', `${text}\n`),
  signed('crlf', 'CR LF after it', `${text}\r\n`),
  signed('byte-order-mark', 'A byte order mark before it', `\ufeff${text}`),
  signed('order', 'Members in the order of the description', JSON.stringify(entry)),
  signed(
    'order-within',
    'Members within a member in another order',
    text.replace(/("id":"[^"]*"),("owner":"[^"]*")/, '$2,$1'),
  ),
  signed('escaped-letter', 'A letter as an escape', text.replace('sealed', '\\u0073ealed')),
  signed('escaped-name', 'A letter of a name as an escape', text.replace('"seq"', '"se\\u0071"')),
  signed('escaped-slash', 'An escaped slash', withData({ t: '/' }).replace('"/"', '"\\/"')),
  signed(
    'escaped-utf8',
    'A letter beyond ASCII as an escape',
    withData({ t: '\u00f6' }).replace('\u00f6', '\\u00f6'),
  ),
  signed(
    'escaped-pair',
    'An emoji as escapes',
    withData({ t: '\u{1f600}' }).replace('\u{1f600}', '\\ud83d\\ude00'),
  ),
  signed(
    'escaped-upper-case',
    'Upper-case digits in an escape',
    escapes.replace('\\u001f', '\\u001F'),
  ),
  signed(
    'escaped-long',
    'A line feed in the long form of escape',
    escapes.replace('\\n', '\\u000a'),
  ),
  signed('escaped-delete', 'U+007F as an escape', escapes.replace('\u007f', '\\u007f')),
  signed('raw-tab', 'A tab in a string as it is', withData({ t: 'a b' }).replace('a b', 'a\tb')),
  signed(
    'bad-escape',
    'An escape that JSON does not have',
    withData({ t: 'ab' }).replace('ab', 'a\\x62'),
  ),
  signed(
    'lone-surrogate',
    'An escape that is half a surrogate pair',
    withData({ t: 'a' }).replace('"a"', '"\\ud800"'),
  ),
  signed('escapes', 'Every escape that the canonical form has', escapes, valid),
  signed(
    'same-twice',
    'A member twice, with the same value',
    text.replace('"seq":2', '"seq":2,"seq":2'),
  ),
  signed('twice', 'A member twice, with two values', text.replace('"seq":2', '"seq":1,"seq":2')),
  signed(
    'id-twice',
    'The id twice: another one, and the right one',
    text.replace(`"id":"${id}"`, () => `"id":"${id.replace('0', '1')}","id":"${id}"`),
  ),
  numberCase('fraction', '1.0'),
  numberCase('exponent', '1e0'),
  numberCase('upper-exponent', '1E+21'),
  numberCase('no-sign', '1e21'),
  numberCase('long', '1000000000000000000000'),
  numberCase('trailing-zero', '0.10'),
  numberCase('minus-zero', '-0'),
  numberCase('leading-zero', '01'),
  numberCase('plus', '+1'),
  numberCase('small', '0.0000001'),
  numberCase('not-small', '1e-6'),
  numberCase('digits', '0.1000000000000000055'),
  numberCase('beyond-2-53', '9007199254740993'),
  numberCase('infinite', '1e400'),
  numberCase('overflow', '1e+400'),
  numberCase('nan', 'NaN'),
  numberCase('infinity', 'Infinity'),
  numberCase('hex', '0x10'),
  signed('v-fraction', 'v is 2.0', text.replace('"v":2', '"v":2.0')),
  signed(
    'numbers',
    'Numbers in the forms that the canonical form has',
    withData({
      n: [
        0, -1, 0.1, -1.5, 1e21, 1e-7, 1e-6, 5e-324, 1.7976931348623157e308, 333333333.3333333,
        123456789012345680000, 9007199254740991, 0.30000000000000004,
      ],
    }),
    valid,
  ),
  signed('trailing-comma', 'A comma after the last member', text.replace(/\}$/, ',}')),
  signed('comment', 'A comment', text.replace('{', '{/* */')),
  signed(
    'single-quotes',
    'Single quotes',
    text.replace('"sealed"', `'sealed'`).replace('"seq"', `'seq'`),
  ),
  signed('bare-name', 'A name without quotes', text.replace('"seq"', 'seq')),
  signed('missing-colon', 'A colon is missing', text.replace('"seq":', '"seq"')),
  signed('missing-comma', 'A comma is missing', text.replace(',"seq"', '"seq"')),
  signed('wrong-bracket', 'An object that ends as an array', text.replace(/\}$/, ']')),
  signed('unclosed', 'The last bracket is missing', text.slice(0, -1)),
  signed('bracket-more', 'A bracket too much', `${text}}`),
  signed('two', 'Two entries', text + text),
  signed('no-json', 'No JSON', 'entry'),
  signed('spaces', 'White space alone', '  '),
  signed('null', 'null, which is canonical', 'null', notAnEntry),
  signed('string', 'A canonical string', '"entry"', notAnEntry),
  signed('number', 'A canonical number', '42', notAnEntry),
  signed('array', 'The entry in an array', `[${text}]`, notAnEntry),
  signed('empty-array', 'An empty array', '[]', notAnEntry),
  signed('no-members', 'A canonical object without members', '{}', notAnEntry),
  signed(
    'id-only',
    'A canonical object with the id alone, as a signature for another purpose could have',
    canonical({ id }),
    notAnEntry,
  ),
  signed('v-missing', 'No v', canonical({ ...entry, v: undefined }), notAnEntry),
  signed('v-1', 'v is 1, as before the release', canonical({ ...entry, v: 1 }), notAnEntry),
  signed('v-3', 'v is 3, which nobody knows', canonical({ ...entry, v: 3 }), notAnEntry),
  signed('v-text', 'v is "2"', canonical({ ...entry, v: '2' }), notAnEntry),
  signed('v-true', 'v is true', canonical({ ...entry, v: true }), notAnEntry),
  signed('late', 'An entry that was signed late', canonical({ ...entry, late: true }), valid),
  signed(
    'unsealed',
    'No sealedAt, as the vault appended the entry',
    canonical({ ...entry, sealedAt: undefined }),
    notAnEntry,
  ),
  sealedAtCase('null', null),
  sealedAtCase('number', 1_688_096_058_731),
  sealedAtCase('seconds', '2023-06-30T03:34:18Z'),
  sealedAtCase('microseconds', '2023-06-30T03:34:18.731000Z'),
  sealedAtCase('offset', '2023-06-30T03:34:18.731+00:00'),
  sealedAtCase('local', '2023-06-30T03:34:18.731'),
  sealedAtCase('month-13', '2023-13-30T03:34:18.731Z'),
  sealedAtCase('hour-24', '2023-06-30T24:00:00.000Z'),
  sealedAtCase('space', '2023-06-30T03:34:18.731Z '),
  sealedAtCase('line-feed', '2023-06-30T03:34:18.731Z\n'),
  sealedAtCase('array', ['2023-06-30T03:34:18.731Z']),
  signed(
    'sealed-at-within',
    'sealedAt is only within a member',
    canonical({ ...entry, sealedAt: undefined, data: { sealedAt: entry.sealedAt } }),
    notAnEntry,
  ),
  signed('id-missing', 'No id', canonical({ ...entry, id: undefined }), notAnEntry),
  signed('id-null', 'The id is null', canonical({ ...entry, id: null }), notAnEntry),
  signed('id-array', 'The id in an array', canonical({ ...entry, id: [id] }), notAnEntry),
  signed(
    'id-within',
    'The id is only within a member',
    canonical({ ...entry, id: undefined, data: { id, v: 2 } }),
    notAnEntry,
  ),
  signed(
    'id-proto',
    'The id and v are only in __proto__',
    `{"__proto__":{"id":"${id}","sealedAt":"${entry.sealedAt}","v":2}}`,
    notAnEntry,
  ),
  signed(
    'id-other',
    'The id of another entry',
    canonical({ ...entry, id: id.replace('0', '1') }),
    otherId,
  ),
  signed(
    'id-upper-case',
    'The id in upper case',
    canonical({ ...entry, id: id.toUpperCase() }),
    otherId,
  ),
  signed('id-space', 'The id with a space', canonical({ ...entry, id: ` ${id}` }), otherId),
  signed(
    'id-decoy',
    'The right id within a member, another one in the entry',
    canonical({ ...entry, id: id.replace('0', '1'), data: { id } }),
    otherId,
  ),
  signed(
    'extra',
    'A member more than the entry of today',
    canonical({ ...entry, zone: 'eu' }),
    valid,
  ),
  signed(
    'proto',
    'A member __proto__ within the data',
    withDataText('{"__proto__":{"polluted":true},"constructor":1,"toJSON":"x"}'),
    valid,
  ),
  signed('composed', 'Composed letters, as signed', composed, valid),
  signed('decomposed', 'Decomposed letters, as signed', decomposed, valid),
  {
    name: 'entry-normalised',
    description: 'Letters decomposed since they were signed',
    ...wrongBoth('hash_mismatch'),
    proof: { ...prove(composed), entryCanonical: decomposed },
  },
  {
    name: 'entry-changed',
    description: 'The entry changed, and its hash with it',
    ...wrongSignature('signature_invalid'),
    proof: {
      ...proof,
      entryCanonical: text.replace('success', 'failure'),
      entryHash: hash('sha3-256', text.replace('success', 'failure')),
    },
  },
  signed(
    'utf16-order',
    'Names beyond U+FFFF before those from U+E000, as UTF-16 has them',
    withDataText('{"\u{1f600}":1,"\ufb33":2}'),
    valid,
  ),
  signed(
    'code-point-order',
    'Names in the order of their code points',
    withDataText('{"\ufb33":2,"\u{1f600}":1}'),
  ),
  signed('prefix-order', 'A name after one that begins with it', withDataText('{"ab":2,"a":1}')),
  signed('empty-name', 'An empty name', withData({ '': 1, ' ': 2 }), valid),
  signed(
    'noncharacters',
    'Characters that Unicode will never have',
    withData({ t: '\uffff\ufdd0\u{10ffff}' }),
    valid,
  ),
];
