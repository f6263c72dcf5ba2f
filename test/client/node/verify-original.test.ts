import { randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Disclosure } from '../../../client/disclosure/disclose.ts';
import { writeDisclosure } from '../../../client/node/disclosure/disclosure-folder.ts';
import { writeProofFiles } from '../../../client/node/proof-files.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { runScript } from '../../support/disclosure/run-script.ts';
import {
  proveEntry,
  sealedEntry,
  sealFingerprint,
  sealOriginal,
  type JsonMembers,
} from '../../support/disclosure/sealed-original.ts';
import { seededRandom } from '../../support/runs/rounds.ts';
import { temporaryDirectory } from '../../support/processes/processes.ts';

const mebibyte = 2 ** 20;
const isWhole = 'this file is what was sealed';

/** Texts of a user in an entry, which look like members of the entry. */
const trap = `\\"},"contentCommitment":"${'ee'.repeat(32)}","data":{"`;
const note = {
  statement: { contentCommitment: '00'.repeat(32), note: [trap, { contentCommitment: trap }] },
};

async function seal(size: number) {
  const bytes = new Uint8Array(randomBytes(size));
  return { bytes, ...(await sealOriginal(bytes, { note })) };
}

/** Writes the folder of a disclosure, and the original beside it. */
async function createFolder(
  t: ExecutionContext,
  disclosure: Disclosure,
  bytes: Uint8Array,
): Promise<string> {
  const directory = await temporaryDirectory(t);
  await writeDisclosure(disclosure, join(directory, 'folder'));
  await writeFile(join(directory, 'original'), bytes);
  return directory;
}

const verify = (directory: string, ...args: string[]) =>
  runScript(directory, 'folder/verify-original.sh', args.length > 0 ? args : ['original']);

const sizes = [0, 1, mebibyte - 1, mebibyte, mebibyte + 1, 3 * mebibyte + 5];

for (const size of sizes) {
  test(`the script says that a file of ${size} bytes is what was sealed`, async (t) => {
    const { bytes, ...sealed } = await seal(size);
    const directory = await createFolder(t, sealed.discloseAll(), bytes);
    const { code, lines } = await verify(directory, 'original', sealFingerprint);
    t.deepEqual({ code, last: lines.at(-1) }, { code: 0, last: isWhole });
    t.is(lines.filter((line) => line.includes(sealFingerprint)).length, 1);
  });

  test(`the script says which bytes of ${size} are what was sealed`, async (t) => {
    const { bytes, ...sealed } = await seal(size);
    const last = sealed.leaves.length - 1;
    const indexes = [...new Set([0, last])];
    const directory = await createFolder(t, await sealed.discloseSegments(indexes), bytes);
    const ends = indexes.map((index) => Math.min(size, (index + 1) * mebibyte) - 1);
    const said = indexes.map(
      (index, place) =>
        `bytes ${index * mebibyte} to ${ends[place]} of this file are what was sealed`,
    );
    for (const file of ['original', 'folder/disclosed.bin']) {
      const { code, lines } = await verify(directory, file);
      const expected = size === 0 ? [isWhole] : said;
      t.deepEqual({ code, said: lines.slice(-expected.length) }, { code: 0, said: expected });
    }
  });
}

test('the script runs in its folder and beside it, whatever files are called', async (t) => {
  const { bytes, ...sealed } = await seal(5);
  const directory = await createFolder(t, sealed.discloseAll(), bytes);
  const strange = join(directory, '- a $(folder) *');
  await cp(join(directory, 'folder'), strange, { recursive: true });
  for (const name of ['-n', '--', 'a \'b\' "c" $d `e` \\f', ' ', 'ö\n']) {
    await writeFile(join(strange, name), bytes);
    const inside = await runScript(strange, 'verify-original.sh', [name]);
    t.deepEqual([inside.code, inside.lines.at(-1)], [0, isWhole], name);
    const beside = await runScript(directory, '- a $(folder) */verify-original.sh', [
      join('- a $(folder) *', name),
    ]);
    t.deepEqual([beside.code, beside.lines.at(-1)], [0, isWhole], name);
  }
});

test('the script compares the key with the fingerprint that it is given', async (t) => {
  const { bytes, ...sealed } = await seal(5);
  const directory = await createFolder(t, sealed.discloseAll(), bytes);
  const half = sealFingerprint.slice(0, 32);
  const withColons = sealFingerprint.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:');
  for (const fingerprint of [sealFingerprint, half, withColons]) {
    t.is((await verify(directory, 'original', fingerprint)).code, 0, fingerprint);
  }
  for (const other of ['ab'.repeat(32), `${half}${'0'.repeat(32)}`, 'ab'.repeat(16)]) {
    const { code, lines } = await verify(directory, 'original', other);
    t.is(code, 1);
    t.regex(lines.join('\n'), /^the key in key\.pem is not the one that you named.*$/);
  }
  const unnamed = await verify(directory);
  t.true(unnamed.lines.some((line) => line.includes('compare it with')));
});

test('the script says how it is used, and that nothing can be said', async (t) => {
  const { bytes, ...sealed } = await seal(5);
  const directory = await createFolder(t, sealed.discloseAll(), bytes);
  const script = 'folder/verify-original.sh';
  for (const args of [
    [],
    ['original', sealFingerprint, 'x'],
    ['missing'],
    ['.'],
    [''],
    ['original', ''],
    ['original', 'abc'],
    ['original', `${sealFingerprint.slice(0, 63)}g`],
  ]) {
    const { code, lines } = await runScript(directory, script, args);
    t.deepEqual([code, lines.length], [2, 1], args.join(' '));
  }
});

test('the script refuses a folder that lacks a file', async (t) => {
  const { bytes, ...sealed } = await seal(5);
  for (const name of ['entry.json', 'signature.der', 'key.pem', 'opening.txt']) {
    const directory = await createFolder(t, sealed.discloseAll(), bytes);
    await rm(join(directory, 'folder', name));
    const { code, lines } = await verify(directory);
    t.deepEqual([code, lines], [1, [`the folder of this script has no ${name}`]]);
  }
});

test('the script refuses an entry that says nothing of the file', async (t) => {
  const { bytes, ...sealed } = await seal(5);
  const directory = await createFolder(t, sealed.discloseAll(), bytes);
  const contentCommitment = sealed.commitment;
  const entry = sealedEntry({ contentCommitment });
  const cases: [JsonMembers, RegExp][] = [
    [{ ...entry, action: 'document.created' }, /seals no document/],
    [{ ...entry, outcome: 'failure' }, /seals no document/],
    [{ ...entry, data: [entry['data']] }, /no content commitment/],
    [sealedEntry({ author: { contentCommitment } }), /no content commitment/],
    [sealedEntry({ contentCommitment: contentCommitment.toUpperCase() }), /no content commitment/],
    [sealedEntry({ contentCommitment: { contentCommitment } }), /no content commitment/],
    [sealedEntry({ contentCommitment: 'ab'.repeat(32) }), /not of the content commitment/],
    [sealedEntry({ note: `"contentCommitment":"${contentCommitment}"` }), /no content commitment/],
  ];
  for (const [members, message] of cases) {
    await writeProofFiles(proveEntry(members), join(directory, 'folder'));
    const { code, lines } = await verify(directory);
    t.deepEqual([code, lines.length], [1, 1]);
    t.regex(lines[0] ?? '', message);
  }
});

test('nothing in opening.txt is executed', async (t) => {
  const { bytes, ...sealed } = await seal(mebibyte + 1);
  const bait = ['$(touch caught)', '`touch caught`', '; touch caught', '%n%s', '\\101', '*', '~'];
  for (const disclosure of [sealed.discloseAll(), await sealed.discloseSegments([0])]) {
    const directory = await createFolder(t, disclosure, bytes);
    const path = join(directory, 'folder', 'opening.txt');
    const text = await readFile(path, 'utf8');
    const lines = text.trimEnd().split('\n');
    for (const [index, line] of lines.entries()) {
      const each = bait[index % bait.length] ?? '';
      for (const changed of [line.replace(/ .*/, ` ${each}`), `${line}${each}`, each]) {
        await writeFile(path, `${lines.with(index, changed).join('\n')}\n`);
        const { code, lines: said } = await verify(directory);
        t.deepEqual([code, said.length], [1, 1], changed);
      }
    }
    t.deepEqual((await readdir(directory)).toSorted(), ['folder', 'original']);
  }
});

/** Proves a sealed entry by a signature of a length, which is between 70 and 72 bytes at random. */
function proveAtLength(bytes: number, contentCommitment: string): AuditProof {
  for (;;) {
    const proof = proveEntry(sealedEntry({ contentCommitment }));
    if (Buffer.from(proof.hsmSignature, 'base64').length === bytes) return proof;
  }
}

/** Changes one line of a text: leaves it out, repeats it, moves it, or changes a character. */
function changeLine(text: string, random: () => number): string {
  const lines = text.trimEnd().split('\n');
  const at = Math.floor(random() * lines.length);
  const line = lines[at] ?? '';
  const end = lines.length - 1;
  const digits = '0123456789abcdef'.split('');
  const changed = [
    () => lines.toSpliced(at, 1),
    () => lines.toSpliced(at, 0, line),
    () => lines.with(at, lines[end - at] ?? '').with(end - at, line),
    () => {
      const place = line.length - 1 - Math.floor(random() * 8);
      const others = digits.filter((digit) => digit !== line[place]);
      const other = others[Math.floor(random() * others.length)] ?? '';
      return lines.with(at, line.slice(0, place) + other + line.slice(place + 1));
    },
  ][Math.floor(random() * 4)]?.();
  return `${(changed ?? []).join('\n')}\n`;
}

test('the script refuses an opening with any line changed', async (t) => {
  const { bytes, ...sealed } = await seal(2 * mebibyte + 1);
  const random = seededRandom(1);
  for (const disclosure of [sealed.discloseAll(), await sealed.discloseSegments([0, 2])]) {
    const directory = await createFolder(t, disclosure, bytes);
    const path = join(directory, 'folder', 'opening.txt');
    const text = await readFile(path, 'utf8');
    for (let round = 0; round < 25; round += 1) {
      const changed = changeLine(text, random);
      if (changed === text) continue;
      await writeFile(path, changed);
      const { code, lines } = await verify(directory);
      t.deepEqual([code, lines.length], [1, 1], changed);
    }
  }
});

test('the script refuses a file, an entry, a key or a signature with a bit changed', async (t) => {
  const { bytes, ...sealed } = await seal(2 * mebibyte + 1);
  const random = seededRandom(2);
  const directory = await createFolder(t, await sealed.discloseSegments([0, 1, 2]), bytes);
  await writeProofFiles(proveAtLength(72, sealed.commitment), join(directory, 'folder'));
  for (const name of ['original', 'folder/entry.json', 'folder/key.pem', 'folder/signature.der']) {
    const path = join(directory, name);
    const whole = await readFile(path);
    for (let round = 0; round < 8; round += 1) {
      const changed = Buffer.from(whole);
      const at = Math.floor(random() * whole.length);
      changed[at] = (changed[at] ?? 0) ^ (1 << round);
      await writeFile(path, changed);
      const { code, lines } = await verify(directory);
      t.deepEqual([code, lines.length], [1, 1], `${name} at ${at}`);
    }
    for (const other of [whole.subarray(1), Buffer.concat([whole, Buffer.from('x')])]) {
      await writeFile(path, other);
      t.is((await verify(directory)).code, 1, `${name} of ${other.length} bytes`);
    }
    await writeFile(path, whole);
    t.is((await verify(directory)).code, 0);
  }
});

test('a disclosure is written into an empty folder only', async (t) => {
  const { bytes: _, ...sealed } = await seal(5);
  const directory = await temporaryDirectory(t);
  const full = join(directory, 'full');
  await mkdir(full);
  await writeFile(join(full, 'mine'), '');
  const code = 'folder_not_empty';
  await t.throwsAsync(writeDisclosure(sealed.discloseAll(), full), { code });
  t.deepEqual(await readdir(full), ['mine']);
});

test('a disclosure of which a download fails leaves an empty folder', async (t) => {
  const { bytes: _, ...sealed } = await seal(5);
  const directory = await temporaryDirectory(t);
  const disclosure = await sealed.discloseSegments([0]);
  const readSegments = async function* () {
    yield* [];
    throw new Error('the vault is gone');
  };
  const writing = writeDisclosure({ ...disclosure, readSegments }, directory);
  await t.throwsAsync(writing, { message: 'the vault is gone' });
  t.deepEqual(await readdir(directory), []);
});
