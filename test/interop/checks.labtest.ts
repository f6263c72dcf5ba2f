import { bytesToHex, randomBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { hashKeywords } from '../../client/documents/keywords.ts';
import { derivePasswordKey, srpAuthLabel } from '../../client/login/password.ts';
import { runPython } from './python.ts';

for (const [program, guarantee] of [
  ['check_vectors.py', 'every test vector holds in Python'],
  ['check_audit_proof.py', 'only the proof printed in docs/formats.md is valid, no changed one'],
  ['check_reports.py', 'reports that are left out, exchanged or forged are refused'],
  ['check_validation_mail.py', 'a validation e-mail is parsed in one part and in several'],
] as const) {
  test(guarantee, async (t) => {
    const { code, errors } = await runPython(program);
    t.is(code, 0, errors);
  });
}

const Derived = z.object({ keywordHashes: z.array(z.string()), authKeys: z.array(z.string()) });

const sampleKeywords = [
  '  Größe\t ＡＢＣ ',
  'a\u{1c}b\u{1f}c',
  'a\u{85}b',
  '\u{feff}a\u{1680}b\u{3000}\u{feff}\u{2028}c\u{2029}',
  '\u{a0}a\u{202f}\u{205f}b\u{180e}',
  'İstanbul ISPARTA ı',
  'ΟΔΥΣΣΕΥΣ Σ ΑΣ. ΣΑΣ',
  'STRASSE ẞ ß ǅ ﬁ ½ Å',
  'E\u{301}\u{327} \u{1d400} \u{10400}',
];
const samplePasswords = [
  'Ångström ﬁ ½',
  ' kept \u{feff}',
  'a\u{0}b',
  'e\u{327}\u{301} \u{1f511}',
  '가',
];

test('both clients derive equal keys from texts that are hard to normalize', async (t) => {
  const masterKey = randomBytes(32);
  const salt = randomBytes(32);
  const given = { masterKey: bytesToHex(masterKey), salt: bytesToHex(salt) };
  const texts = JSON.stringify({ ...given, keywords: sampleKeywords, passwords: samplePasswords });
  const { output, errors } = await runPython('derive.py', [], texts);
  t.is(errors, '');
  const { keywordHashes, authKeys } = Derived.parse(JSON.parse(output));

  for (const [index, keyword] of sampleKeywords.entries()) {
    const [hash] = await hashKeywords(masterKey, [keyword]);
    t.is(hash, keywordHashes[index] ?? t.fail(), keyword);
  }
  for (const [index, password] of samplePasswords.entries()) {
    const key = await derivePasswordKey(password, salt, srpAuthLabel);
    t.is(bytesToHex(key), authKeys[index] ?? t.fail(), password);
  }
});
