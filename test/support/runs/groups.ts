import { createHash } from 'node:crypto';
import { glob, mkdir, rm, writeFile } from 'node:fs/promises';
import { projectFile } from '../../../app/dev/files/project.ts';

/** The directory of group files, relative to the project. Git ignores it, and so do all checks. */
const directory = 'var/test-groups';
const filesPerGroup = 12;

/** The files that take longest start first, so that none of them runs alone at the end. */
const longest = [
  'test/http/roles/roles.test.ts',
  'test/auth/reauth/reauth.test.ts',
  'test/lifecycle/closure/races.test.ts',
  'test/client/recovery/recovery.test.ts',
  'test/signer/keys/remnants.test.ts',
  'test/sync/feed/events-replicas.test.ts',
  'test/restore/drill.test.ts',
  'test/cli/doctor/findings.test.ts',
  'test/sync/restore.test.ts',
  'test/client/session.test.ts',
  'test/client/rekey/rekey.test.ts',
  'test/auth/credentials/recovery.test.ts',
];

/** Group files of one run, and how to remove them. */
export interface TestGroups extends AsyncDisposable {
  /** By this AVA runs them, in place of the test files (ava.config.mjs). */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Writes group files: each runs a dozen test files, one after the other, in one worker of AVA. A
 * worker of its own for each file spends more time on loading the same modules than on tests.
 */
export async function writeGroups(): Promise<TestGroups> {
  const own = `${directory}/${process.pid}`;
  await mkdir(projectFile(own), { recursive: true });
  const files: string[] = [];
  for await (const file of glob('test/**/*.test.ts', { cwd: projectFile('.') })) files.push(file);
  for (const [index, group] of groupsOf(files).entries()) {
    const name = `${own}/group-${String(index).padStart(3, '0')}.test.mjs`;
    await writeFile(projectFile(name), groupSource(group));
  }
  return {
    environment: { PROBATIO_TEST_GROUPS: `${own}/*.test.mjs` },
    [Symbol.asyncDispose]: () => rm(projectFile(own), { recursive: true }),
  };
}

/** Long files have a group each. The others are mixed: files of a folder wait in the same way. */
function groupsOf(files: readonly string[]): string[][] {
  const rest = files
    .filter((file) => !longest.includes(file))
    .map((file) => ({ file, rank: createHash('sha256').update(file).digest('hex') }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ file }) => file);
  const groups = longest.map((file) => [file]);
  for (let at = 0; at < rest.length; at += filesPerGroup) {
    groups.push(rest.slice(at, at + filesPerGroup));
  }
  return groups;
}

function groupSource(files: readonly string[]): string {
  const root = '../../..';
  const members = files.map((file) => {
    const name = file
      .replace(/^test\//, '')
      .replace(/\.test\.ts$/, '')
      .replaceAll('/', ' › ');
    return `  [${JSON.stringify(name)}, () => import(${JSON.stringify(`${root}/${file}`)})],\n`;
  });
  return (
    `import { runGroup } from '${root}/test/support/runs/grouped-tests.ts';\n` +
    `await runGroup([\n${members.join('')}]);\n`
  );
}
