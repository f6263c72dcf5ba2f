import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { runDemo } from '../support/processes/run-demo.ts';

const execute = promisify(execFile);
const vault = await startReadyVault();
test.after.always(() => vault.stop());

const proofFiles = [
  'README.txt',
  'author-key.pem',
  'author-signature.bin',
  'author-statement.bin',
  'encrypted.bin',
  'entry.json',
  'file-key.txt',
  'identity-changes.json',
  'key.pem',
  'metadata.bin',
  'opening.json',
  'opening.txt',
  'proof.json',
  'signature.der',
  'verify-entry.sh',
  'verify-opening.sh',
  'verify-original.sh',
];

test('the demo passes all steps, and both verifications fail after one changed bit', async (t) => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'agreement.txt'), 'what was agreed');
  const { code, text } = await runDemo(t, { vault, directory, args: ['agreement.txt'] });
  t.is(code, 0, text);
  const steps = [
    /^a second login finds it by the keyword/,
    /^it decrypts the metadata: agreement\.txt, 15 bytes$/,
    /^and downloads and decrypts the file: the bytes and the SHA3-256 are the same$/,
    /^version 2 added and sealed: each version has a proof of its own/,
    /^shared with it: the vault showed the same key/,
    /^the second account lists agreement\.txt, and decrypts every version$/,
    /^the share has ended: the second account lists nothing and downloads nothing more$/,
  ];
  const lines = text.split('\n');
  const places = steps.map((step) => lines.findIndex((line) => step.test(line)));
  t.false(places.includes(-1), text);
  t.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
  );
  t.regex(text, /^client library: valid$/m);
  t.regex(text, /^openssl dgst -sha3-256 -verify .*: Verified OK$/m);

  t.regex(text, /^client library: this file is what was sealed$/m);
  t.regex(text, /^sh verify-original\.sh FILE: this file is what was sealed$/m);

  const [document = '', ...others] = await readdir(join(directory, 'demo-output'));
  t.deepEqual(others, []);
  const proof = join(directory, 'demo-output', document);
  t.deepEqual(await readdir(proof), proofFiles);
  await followReadme(t, proof, join(directory, 'agreement.txt'));

  const entry = await readFile(join(proof, 'entry.json'));
  entry[100] = (entry[100] ?? 0) ^ 1;
  await writeFile(join(proof, 'entry.json'), entry);
  const check = await runDemo(t, { vault, directory, args: ['--verify', proof] });
  t.is(check.code, 1);
  t.regex(check.text, /^client library: NOT VALID/m);
  t.regex(check.text, /^openssl dgst .*: NOT VERIFIED$/m);
});

/** Runs every command of a README.txt, and expects what the line before it says. */
async function followReadme(t: ExecutionContext, folder: string, file: string): Promise<void> {
  const readme = await readFile(join(folder, 'README.txt'), 'utf8');
  const lines = readme.split('\n');
  const run = async (command: string) =>
    (await execute('sh', ['-c', command.replaceAll('FILE', `'${file}'`)], { cwd: folder })).stdout;
  const commands = lines.map((line) => line.trim()).filter((line) => /^(?:openssl|sh) /.test(line));
  t.is(commands.length, 8);
  for (const command of commands) {
    const output = (await run(command)).trim();
    const before = lines[lines.findIndex((line) => line.trim() === command) - 1]?.trim() ?? '';
    if (command.startsWith('sh ')) t.true(output.endsWith('this file is what was sealed'));
    else if (command.includes('pkeyutl')) t.is(output, 'Signature Verified Successfully');
    else if (command.includes('-verify')) t.is(output, 'Verified OK');
    else if (/^[0-9a-f]{64}$/.test(before)) t.true(output.endsWith(before), command);
    else t.true((await readFile(join(folder, 'proof.json'), 'utf8')).includes(output.slice(-64)));
  }
}

test('the demo stores an empty file too, and writes its proof to the given folder', async (t) => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'empty'), '');
  const args = ['empty', '--out', 'proof'];
  const { code, text } = await runDemo(t, { vault, directory, args });
  t.is(code, 0, text);
  t.deepEqual(await readdir(directory), ['empty', 'proof']);
  t.deepEqual(await readdir(join(directory, 'proof')), proofFiles);

  const again = await runDemo(t, { vault, directory, args });
  t.is(again.code, 1);
  t.regex(again.text, /is not empty/);
});

test('a file that cannot be stored is reported in one line', async (t) => {
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'evidence'), 'x');
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  const refusals: [args: string[], message: RegExp, baseUrl?: string][] = [
    [[], /which FILE\?/],
    [['missing'], /missing does not exist$/],
    [['.'], /is no regular file$/],
    [['evidence', 'evidence'], /one FILE at a time$/],
    [['evidence', '--out', 'evidence'], /evidence is no folder$/],
    [['evidence'], /no vault answers at .* \(connect ECONNREFUSED/, nowhere],
    [['--verify', '.'], /holds no key\.pem/],
  ];
  for (const [args, message, baseUrl = vault.baseUrl] of refusals) {
    const { code, text } = await runDemo(t, { vault, directory, args, baseUrl });
    t.is(code, 1);
    t.regex(text.split('\n')[0] ?? '', message);
  }
  t.deepEqual(await readdir(directory), ['evidence']);
});
