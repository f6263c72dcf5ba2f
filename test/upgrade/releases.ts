import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../../app/dev/files/project.ts';

const run = promisify(execFile);

/** The sources of a release, with their packages. */
export interface Release {
  readonly name: string;
  readonly directory: string;
}

/** The parts of the project that its processes run from. */
const sources = ['app', 'signer', 'client', 'openapi.json', 'package.json', 'package-lock.json'];

/**
 * Checks out the previous release, whose commit is in the file `previous-release`, and installs its
 * packages. The directory must not exist; `remove` removes it.
 */
export async function checkOutPrevious(
  directory: string,
): Promise<Release & { remove(): Promise<void> }> {
  const kept = await readFile(projectFile('test/upgrade/previous-release'), 'utf8');
  const commit = kept.trim();
  const git = (...args: string[]) => run('git', args, { cwd: projectFile('.') });
  // Rejects unless this release came after it.
  await git('merge-base', '--is-ancestor', commit, 'HEAD');
  await git('worktree', 'add', '--detach', directory, commit);
  const remove = async () => {
    await git('worktree', 'remove', '--force', directory);
  };
  try {
    await installPackages(directory);
  } catch (error) {
    await remove();
    throw error;
  }
  return { name: 'previous', directory, remove };
}

/** Shares the packages of this release if it has the same, or runs the set-up of the other one. */
async function installPackages(directory: string): Promise<void> {
  const [own, other] = await Promise.all(
    [projectFile('.'), directory].map((each) => readFile(join(each, 'package-lock.json'), 'utf8')),
  );
  if (own === other) await sharePackages(directory);
  else await run(process.execPath, ['setup.mjs'], { cwd: directory });
}

const sharePackages = (directory: string) =>
  symlink(projectFile('node_modules'), join(directory, 'node_modules'));

/**
 * Copies the present sources and adds migrations to them.
 * @param migrations The sources of the migrations by the names of their files.
 */
export async function copyPresent(
  directory: string,
  migrations: Readonly<Record<string, string>>,
): Promise<Release> {
  await mkdir(directory);
  for (const path of sources) {
    await cp(projectFile(path), join(directory, path), { recursive: true });
  }
  await sharePackages(directory);
  for (const [file, text] of Object.entries(migrations)) {
    await writeFile(join(directory, 'app/db/migrations', file), text);
  }
  await listMigrations(join(directory, 'app/db/migrating/migrate.ts'), migrations);
  return { name: 'next', directory };
}

/** Adds migrations to the list of those that run. */
async function listMigrations(
  file: string,
  migrations: Readonly<Record<string, string>>,
): Promise<void> {
  const classes = Object.entries(migrations).map(([path, text]) => {
    const [, name = ''] = /export class (\w+)/.exec(text) ?? [];
    return { name, line: `import { ${name} } from '../migrations/${path}';` };
  });
  const before = await readFile(file, 'utf8');
  const names = classes.map(({ name }) => name).join(', ');
  const listed = before.replace(/(const migrations\b[^=]*= \[[^\]]*?),?\s*\]/, `$1, ${names}]`);
  if (listed === before) throw new Error(`${file} lists no migrations`);
  await writeFile(file, `${classes.map(({ line }) => line).join('\n')}\n${listed}`);
}

/** Removes a copy. */
export const removeCopy = ({ directory }: Release) => rm(directory, { recursive: true });
