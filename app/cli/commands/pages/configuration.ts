import { describeConfiguration } from '../../../config/configuration-page.ts';
import { readJsonFile } from '../../../json/json-file.ts';
import { parseOptions, UsageError, type Command } from '../../command.ts';

export const configuration: Command = {
  usage: `usage: probatio configuration [--schema FILE]

Prints the environment variables of the app, with their values and defaults, as Markdown.

  --schema FILE   adds the variables that a JSON Schema describes, such as the one of the signer,
                  which \`node signer/cli.ts configuration\` prints
`,
  async run(args) {
    const { schema: file } = parseOptions(args, { schema: { type: 'string' } });
    if (file === undefined) return describeConfiguration([]);
    const read = readJsonFile(file);
    if ('problem' in read) throw new UsageError(`--schema: the file ${read.problem}`);
    return describeConfiguration([read.json]);
  },
};
