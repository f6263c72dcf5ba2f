import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { createCredential } from '../../../client/accounts/credential.ts';
import { recoveryWords } from '../../../client/login/login-method.ts';
import { derivePasswordKey } from '../../../client/login/password.ts';
import { RecoveryWordsError } from '../../../client/recovery/recovery-words-error.ts';
import {
  compareRecoveryWords,
  createRecoveryWords,
  parseRecoveryWords,
} from '../../../client/recovery/recovery-words.ts';
import { rekeyVectors } from '../../support/client/rekey-vectors.ts';
import { readVectors } from '../../support/client/vectors.ts';

const { recovery, masterKey } = rekeyVectors;
const Bip39 = z.array(z.object({ entropy: z.string().transform(hexToBytes), words: z.string() }));

test('recovery words match the published vectors of BIP 39', async (t) => {
  const vectors = await readVectors('bip39.json', Bip39);
  t.is(vectors.length, 8);
  for (const { entropy, words } of vectors) {
    t.is(createRecoveryWords(entropy), words);
    t.is(parseRecoveryWords(words), words);
  }
});

test('new recovery words are 24, valid, and different each time', (t) => {
  const words = createRecoveryWords();
  t.is(words.split(' ').length, 24);
  t.is(parseRecoveryWords(words), words);
  t.not(createRecoveryWords(), words);
});

test('capitals and unusual white space are accepted', (t) => {
  t.is(parseRecoveryWords(recovery.typed), recovery.words);
  // Some keyboards produce full-width letters.
  const wide = recovery.words.replaceAll(/[a-z]/g, (letter) =>
    String.fromCodePoint(letter.charCodeAt(0) + 0xfee0),
  );
  t.is(parseRecoveryWords(wide), recovery.words);
});

test('wrong words are named by their positions, and no error contains a word', (t) => {
  const words = recovery.words.split(' ');
  const secret = 'meadow surge'.split(' ');
  const typos = words.with(2, 'vanisch').with(23, 'orchards').join(' ');
  const swapped = [words[1], words[0], ...words.slice(2)].join(' ');
  for (const [typed, code, places] of [
    [typos, 'recovery_words_unknown', [3, 24]],
    [swapped, 'recovery_words_invalid', []],
    [words.slice(1).join(' '), 'recovery_words_incomplete', []],
    [`${recovery.words} meadow`, 'recovery_words_incomplete', []],
    ['', 'recovery_words_incomplete', []],
  ] as const) {
    const error = t.throws(() => parseRecoveryWords(typed), { instanceOf: RecoveryWordsError });
    t.is(error.code, code, typed);
    t.deepEqual(error.places, places);
    t.is(error.cause, undefined);
    for (const word of [...secret, 'vanisch', 'orchards']) {
      t.false(`${error.message} ${error.stack}`.includes(word));
    }
  }
});

test('a rehearsal passes only with the words that were shown', (t) => {
  compareRecoveryWords(recovery.words, recovery.typed);
  const other = recovery.words.replace('meadow', 'zoo');
  const error = t.throws(() => compareRecoveryWords(recovery.words, other), {
    instanceOf: RecoveryWordsError,
  });
  t.is(error.code, 'recovery_words_differ');
  t.deepEqual(error.places, [1]);
  t.throws(() => compareRecoveryWords(recovery.words, 'meadow'), {
    code: 'recovery_words_incomplete',
  });
});

test('the keys derived from recovery words match the test vectors', async (t) => {
  const { words, recoverySalt, authKey, recoveryVerifier, recoveryKey } = recovery;
  const { authLabel } = recoveryWords;
  const made = { masterKey, generation: 2 };
  t.is(bytesToHex(await derivePasswordKey(words, recoverySalt, authLabel)), authKey);
  t.deepEqual(await createCredential(recoveryWords, words, made, recoverySalt), {
    salt: bytesToHex(recoverySalt),
    verifier: recoveryVerifier,
    encryptedEnvelope: recovery.encryptedEnvelope,
    envelopeKey: recoveryKey,
  });
});
