import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeRequests } from '../../../http/openapi/request-files.ts';
import { describeApi } from '../../../wiring/routes.ts';
import { parseOptions, UsageError, type Command } from '../../command.ts';

export const requests: Command = {
  usage: `usage: probatio requests --directory DIR

Writes the examples of the API as files for the HTTP clients of Visual Studio Code and JetBrains,
one for each group of operations, and removes other .http files in the directory.

  --directory DIR   where the files go; created if missing
`,
  async run(args) {
    const { directory } = parseOptions(args, { directory: { type: 'string' } });
    if (directory === undefined || directory === '') {
      throw new UsageError('--directory must name the directory of the files');
    }
    const files = describeRequests(describeApi());
    await mkdir(directory, { recursive: true });
    const present = (await readdir(directory)).filter((name) => name.endsWith('.http'));
    for (const name of present) {
      if (!files.has(name)) await rm(path.join(directory, name));
    }
    for (const [name, text] of files) await writeFile(path.join(directory, name), text);
    return '';
  },
};
