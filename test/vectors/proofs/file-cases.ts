import { malformed, valid, wrongHash, wrongSignature, type ProofCase } from './case.ts';
import { canonical, entry, otherProof, proof, prove } from './signing.ts';

const json = JSON.stringify(proof);
const replaced = prove(canonical({ ...entry, data: { name: 'a\ufffdb' } }));

function text(
  name: string,
  description: string,
  expected: Pick<ProofCase, 'expected' | 'reason'>,
  text: string,
): ProofCase {
  return { name: `file-${name}`, description, ...expected, text };
}

function value(name: string, description: string, proof: unknown): ProofCase {
  return { name: `file-${name}`, description, ...malformed, proof };
}

/** A proof in various forms of JSON, and JSON that is no proof. */
export const fileCases: ProofCase[] = [
  { name: 'valid', description: 'A proof as the vault makes it', ...valid, proof },
  {
    name: 'valid-other-key',
    description: 'A proof by another of the trusted keys',
    ...valid,
    proof: otherProof,
  },
  text('indented', 'White space between the members', valid, JSON.stringify(proof, null, 2)),
  text('line-feed', 'A line feed at the end', valid, `${json}\n`),
  text(
    'crlf',
    'Lines end in CR LF',
    valid,
    JSON.stringify(proof, null, 1).replaceAll('\n', '\r\n'),
  ),
  text(
    'other-order',
    'The members in another order',
    valid,
    JSON.stringify(Object.fromEntries(Object.entries(proof).toReversed())),
  ),
  text('escaped', 'Every letter v is written as an escape', valid, json.replaceAll('v', '\\u0076')),
  text(
    'last-of-two',
    'entryHash stands there twice; the second, which counts, is right',
    valid,
    json.replace('{', `{"entryHash":"${otherProof.entryHash}",`),
  ),
  text(
    'first-of-two',
    'entryHash stands there twice; the second, which counts, is wrong',
    wrongHash('hash_mismatch'),
    json.replace(/\}$/, `,"entryHash":"${otherProof.entryHash}"}`),
  ),
  text(
    'first-of-two-signatures',
    'hsmSignature stands there twice; the second, which counts, is wrong',
    wrongSignature('signature_invalid'),
    json.replace(/\}$/, `,"hsmSignature":"${otherProof.hsmSignature}"}`),
  ),
  text('byte-order-mark', 'A byte order mark before it', malformed, `\ufeff${json}`),
  text('twice', 'The proof twice', malformed, json + json),
  text('trailing-comma', 'A comma after the last member', malformed, json.replace(/\}$/, ',}')),
  text('single-quotes', 'Names in single quotes', malformed, json.replace('"id"', `'id'`)),
  text('comment', 'A comment before it', malformed, `/* a proof */${json}`),
  text('cut', 'The end of the file is missing', malformed, json.slice(0, -20)),
  text('empty', 'An empty file', malformed, ''),
  text('no-json', 'No JSON', malformed, 'proof'),
  text('nan', 'A number that JSON does not have', malformed, 'NaN'),
  {
    name: 'file-no-utf8',
    description: 'A byte in the entry that is no UTF-8, where U+FFFD was signed',
    ...malformed,
    bytes: Buffer.from(JSON.stringify(replaced).replace('\ufffd', '\u00ff'), 'latin1').toString(
      'base64',
    ),
  },
  text(
    'lone-surrogate',
    'Half a surrogate pair in the entry, where U+FFFD was signed',
    malformed,
    JSON.stringify(replaced).replace('\ufffd', '\\ud83d'),
  ),
  text(
    'lone-low-surrogate',
    'The other half of one',
    malformed,
    JSON.stringify(replaced).replace('\ufffd', '\\ude00'),
  ),
  { name: 'valid-replacement', description: 'U+FFFD, signed', ...valid, proof: replaced },
  value('null', 'null', null),
  value('true', 'true', true),
  value('number', 'A number', 1),
  value('string', 'The proof as a JSON string', json),
  value('array', 'The proof in an array', [proof]),
  value('nested', 'The proof in an object', { proof }),
  value('no-members', 'An object without members', {}),
  value('other-names', 'Names in another case', {
    ...proof,
    hsmKeyID: proof.hsmKeyId,
    hsmKeyId: undefined,
  }),
  value('extra', 'A member more', { ...proof, note: '' }),
  value('verdict', 'A member that says that it is valid', { ...proof, valid: true }),
  text('proto', 'A member __proto__', malformed, json.replace('{', '{"__proto__":{},')),
  text('proto-only', 'All that is right is in __proto__', malformed, `{"__proto__":${json}}`),
  {
    name: 'file-deep',
    description: 'A member more, of arrays 40,000 deep',
    ...malformed,
    text: json.replace('{', '{"note":<>,'),
    repeats: [
      { mark: '<', text: '[', times: 40_000 },
      { mark: '>', text: ']', times: 40_000 },
    ],
  },
];
