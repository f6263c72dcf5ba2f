import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The text that stands in every secret of the cases, and that no message may repeat. */
export const secret = 'jam';

/** Paths of files as operators get them wrong. */
export type Files = Awaited<ReturnType<typeof makeFiles>>;

export async function makeFiles(directory: string) {
  const inside = (name: string) => path.join(directory, name);
  const write = async (name: string, text: string, mode = 0o600) => {
    await writeFile(inside(name), text);
    await chmod(inside(name), mode);
    return inside(name);
  };
  await mkdir(inside('directory'));
  await symlink('loop', inside('loop'));
  return {
    missing: inside('missing'),
    directory: inside('directory'),
    device: '/dev/null',
    /** A symbolic link to itself, which nobody can read. */
    loop: inside('loop'),
    belowFile: path.join(await write('plain', 'text'), 'file'),
    plain: inside('plain'),
    empty: await write('empty', ''),
    onlyLines: await write('only-lines', '\n\n'),
    twoLines: await write('two-lines', `${secret}\n${secret}\n`),
    open: await write('open', secret, 0o666),
    large: await write('large', secret.repeat(32 * 1024)),
    broken: await write('broken.json', `{"${secret}`),
    wrongUrl: await write('wrong-url', `mysql://app:${secret}@db/vault\n`),
    pin: await write('pin', `${secret}-1234\n`),
    socketBelow: path.join(inside('missing'), 'signer.sock'),
  };
}
