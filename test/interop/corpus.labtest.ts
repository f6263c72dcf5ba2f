import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import test from 'ava';
import { proofBytes } from '../vectors/proofs/case.ts';
import { readCorpus } from '../vectors/proofs/corpus.ts';

const script = new URL('../vectors/proofs/verify.sh', import.meta.url).pathname;
const { cases, keys } = await readCorpus();

test('OpenSSL and jq alone reach every verdict, for the same reason', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'proofs-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const trusted = join(directory, 'trusted');
  await mkdir(trusted);
  for (const { keyId, publicKey } of keys.audit) {
    const pem = `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----\n`;
    await writeFile(join(trusted, `${keyId}.pem`), pem);
  }
  const list = join(trusted, 'keys.json');
  await writeFile(list, JSON.stringify({ keys: [...keys.audit, ...keys.token] }));
  const folders = cases.map(({ name }) => join(directory, 'proofs', name));
  for (const [index, folder] of folders.entries()) {
    const [proofCase] = cases.slice(index);
    await mkdir(folder, { recursive: true });
    if (proofCase !== undefined) await writeFile(join(folder, 'proof.json'), proofBytes(proofCase));
  }

  const half = Math.ceil(folders.length / 2);
  const answers = await Promise.all([
    runScript(trusted, ...folders.slice(0, half)),
    runScript(trusted, ...folders.slice(half)),
  ]);
  t.deepEqual(
    answers.map(({ code }) => code),
    [1, 1],
  );
  const lines = answers.flatMap(({ output }) => output.trimEnd().split('\n'));
  t.is(lines.length, cases.length);
  for (const [index, line] of lines.entries()) {
    const [folder = '', verdict = '', reason = 'none'] = line.split(': ');
    t.true(basename(folder) === cases[index]?.name, line);
    const { reason: defect, proof } = cases[index] ?? {};
    t.is(verdict, defect === undefined ? 'valid' : 'invalid', line);
    t.is(reason, defect ?? (isImported(proof) ? 'imported' : 'none'), line);
  }

  const [valid = ''] = folders;
  t.is((await runScript(trusted, valid)).code, 0);
  t.is((await runScript(join(directory, 'proofs'), valid)).code, 2, 'a directory without keys');
  t.is((await runScript(trusted, directory)).code, 2, 'a directory without a proof');
  await writeFile(list, '{}');
  t.is((await runScript(trusted, valid)).code, 2, 'a list of something else');
});

function isImported(proof: unknown): boolean {
  const { hsmKeyId } = (proof ?? {}) as { readonly hsmKeyId?: string };
  return keys.audit.some(({ keyId, imported }) => imported && keyId === hsmKeyId);
}

interface ScriptAnswer {
  readonly code: number | string | undefined;
  readonly output: string;
}

function runScript(...parameters: string[]): Promise<ScriptAnswer> {
  return new Promise((resolve) => {
    execFile('sh', [script, ...parameters], { maxBuffer: 2 ** 24 }, (error, output) => {
      resolve({ code: error === null ? 0 : (error.code ?? undefined), output });
    });
  });
}
