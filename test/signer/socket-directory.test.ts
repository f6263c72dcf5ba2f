import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createSignerClient } from '../../signer/protocol/client.ts';
import { findDirectoryProblem } from '../../signer/protocol/socket-directory.ts';

const [own, stranger] = [process.geteuid?.() ?? 0, 12_345];

const cases: readonly {
  readonly what: string;
  readonly mode: number;
  /** The user and the group that the check is told to have. */
  readonly identity: Parameters<typeof findDirectoryProblem>[1];
  readonly problem?: RegExp;
}[] = [
  { what: 'its own', mode: 0o700, identity: { uid: own, gids: [] } },
  { what: 'its own, for a group', mode: 0o770, identity: { uid: own, gids: [] } },
  { what: 'its own, for everybody', mode: 0o777, identity: { uid: own, gids: [] }, problem: /o-w/ },
  { what: 'sticky', mode: 0o1777, identity: { uid: own, gids: [] }, problem: /o-w/ },
];

for (const { what, mode, identity, problem } of cases) {
  const judged = problem === undefined ? 'trusted' : 'refused';
  test(`a socket’s directory that is ${what} is ${judged}`, async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'probatio-socket-'));
    t.teardown(() => rm(directory, { recursive: true }));
    await chmod(directory, mode);
    const found = findDirectoryProblem(join(directory, 'signer.sock'), identity);
    if (problem === undefined) t.is(found, undefined);
    else t.regex(found ?? '', problem);
  });
}

const asRoot = own === 0 ? test : test.skip;

asRoot(
  'a directory of another user is trusted through a shared group that cannot write',
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'probatio-socket-'));
    t.teardown(() => rm(directory, { recursive: true }));
    const socketPath = join(directory, 'signer.sock');
    await chown(directory, stranger, 10_000);
    const find = (gids: readonly number[]) => findDirectoryProblem(socketPath, { uid: 999, gids });
    await chmod(directory, 0o750);
    t.is(find([10_000]), undefined);
    t.regex(find([999]) ?? '', /directory of another user; let it/);
    await chmod(directory, 0o770);
    t.regex(find([10_000]) ?? '', /g-w/);
  },
);

test('the client speaks to no socket that a stranger could have put there', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'probatio-socket-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const open = join(directory, 'open');
  await mkdir(open);
  await chmod(open, 0o777);
  const client = createSignerClient({ socketPath: join(open, 'signer.sock') });
  t.teardown(() => client.close());
  await t.throwsAsync(client.health(), { code: 'socket_untrusted', message: /chmod o-w/ });
});
