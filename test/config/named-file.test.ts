import { execFile } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { findFileProblem } from '../../signer/protocol/process/named-file.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';

const nobody = 65_534;

test('a file that belongs to another user is called so', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = path.join(directory, 'secret');
  await writeFile(file, 'jam');
  await chmod(directory, 0o755);
  await chmod(file, 0);
  const expected = 'names a file that this process may not read; let its user read it';
  if (process.getuid?.() !== 0) return t.is(findFileProblem(file), expected);
  // Root may read everything, so the file is looked at by somebody else.
  const module = JSON.stringify(projectFile('signer/protocol/process/named-file.ts'));
  const code = `const { findFileProblem } = await import(${module});
    process.setuid(${nobody});
    console.log(findFileProblem(${JSON.stringify(file)}))`;
  const args = ['--input-type=module', '-e', code];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return t.is(stdout.trim(), expected);
});
