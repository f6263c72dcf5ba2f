import { malformed, repeat, valid, wrongHash, type ProofCase, type Repeat } from './case.ts';
import { canonical, entry, proof, prove } from './signing.ts';

const maxBytes = 65_536;
const mark = '<';

/** Creates a case of a signed entry whose data repeats one letter until the entry has this size. */
function padded(
  name: string,
  description: string,
  { letter, bytes }: { readonly letter: string; readonly bytes: number },
  expected: Pick<ProofCase, 'expected' | 'reason'>,
): ProofCase {
  const template = canonical({ ...entry, data: { t: mark } });
  const room = bytes - Buffer.byteLength(template.replace(mark, ''));
  const size = Buffer.byteLength(letter);
  // Fills the bytes that remain if the letter's size does not divide the room.
  const filled = template.replace(mark, mark + 'x'.repeat(room % size));
  return signed(
    name,
    description,
    filled,
    [{ mark, text: letter, times: Math.floor(room / size) }],
    expected,
  );
}

/** Creates a case whose signature covers the text with all marks replaced. */
function signed(
  name: string,
  description: string,
  template: string,
  repeats: Repeat[],
  expected: Pick<ProofCase, 'expected' | 'reason'>,
): ProofCase {
  const whole = prove(repeat(template, repeats));
  return {
    name: `size-${name}`,
    description,
    ...expected,
    proof: { ...whole, entryCanonical: template },
    repeats,
  };
}

function nested(open: string, close: string, times: number): Repeat[] {
  return [
    { mark: '<', text: open, times },
    { mark: '>', text: close, times },
  ];
}

const deepData = canonical({ ...entry, data: null }).replace('null', () => '<0>');

/** Inputs that are large or have many parts. */
export const sizeCases: ProofCase[] = [
  padded(
    'largest',
    '65,536 bytes, the most that is signed',
    { letter: 'x', bytes: maxBytes },
    valid,
  ),
  padded('byte-more', 'One byte more', { letter: 'x', bytes: maxBytes + 1 }, malformed),
  padded(
    'largest-utf8',
    '65,536 bytes in about half as many characters',
    { letter: '\u00f6', bytes: maxBytes },
    valid,
  ),
  padded(
    'largest-emoji',
    '65,536 bytes in about a quarter as many code points',
    { letter: '\u{1f600}', bytes: maxBytes },
    valid,
  ),
  padded(
    'byte-more-utf8',
    'One byte more in half as many characters',
    { letter: '\u00f6', bytes: maxBytes + 1 },
    malformed,
  ),
  padded(
    'many-utf8',
    'Fewer than 65,536 characters, and twice as many bytes',
    { letter: '\u00f6', bytes: 2 * maxBytes - 1_000 },
    malformed,
  ),
  padded('megabytes', 'Two megabytes', { letter: 'x', bytes: 2_000_000 }, malformed),
  {
    name: 'size-signature',
    description: 'A signature of 600,000 characters',
    ...malformed,
    proof: { ...proof, hsmSignature: '<' },
    repeats: [{ mark: '<', text: 'AAAA', times: 150_000 }],
  },
  {
    name: 'size-key',
    description: 'A key of 600,000 characters',
    ...malformed,
    proof: { ...proof, publicKey: '<' },
    repeats: [{ mark: '<', text: 'AAAA', times: 150_000 }],
  },
  {
    name: 'size-id',
    description: 'An id of 600,000 characters',
    ...malformed,
    proof: { ...proof, id: '<' },
    repeats: [{ mark: '<', text: '0', times: 600_000 }],
  },
  {
    name: 'size-white-space',
    description: 'A proof after 100,000 spaces',
    ...valid,
    text: `<${JSON.stringify(proof)}`,
    repeats: [{ mark: '<', text: ' ', times: 100_000 }],
  },
  signed(
    'numbers',
    'An array of 30,000 numbers',
    deepData.replace('<0>', '[0<]'),
    [{ mark: '<', text: ',1', times: 29_999 }],
    valid,
  ),
  signed(
    'escapes',
    '30,000 escapes',
    deepData.replace('<0>', '"<"'),
    [{ mark: '<', text: '\\n', times: 30_000 }],
    valid,
  ),
  signed('nested', 'Data 200 deep', deepData, nested('[', ']', 200), valid),
  signed('nested-arrays', 'Data 30,000 deep', deepData, nested('[', ']', 30_000), valid),
  signed(
    'nested-space',
    'Data 30,000 deep, with a space',
    deepData.replace('<0>', '< 0>'),
    nested('[', ']', 30_000),
    wrongHash('not_canonical'),
  ),
  signed(
    'nested-only',
    'Arrays 30,000 deep, and nothing else',
    '<>',
    nested('[', ']', 30_000),
    wrongHash('not_an_entry'),
  ),
  signed(
    'unclosed',
    'Arrays 60,000 deep that do not end',
    '<',
    nested('[', ']', 60_000),
    wrongHash('not_canonical'),
  ),
];
