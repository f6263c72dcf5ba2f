import { describeConfiguration } from '../../../config/configuration-page.ts';
import { parseOptions, type Command } from '../../command.ts';
import { readJsonOption } from './json-option.ts';

export const configuration: Command = {
  usage: `usage: probatio configuration [--schema FILE]

Prints the environment variables of the app, with their values and defaults, as Markdown.

  --schema FILE   adds the variables that a JSON Schema describes, such as the one of the signer,
                  which \`node signer/cli.ts configuration\` prints
`,
  async run(args) {
    const { schema: file } = parseOptions(args, { schema: { type: 'string' } });
    if (file === undefined) return describeConfiguration([]);
    return describeConfiguration([readJsonOption('--schema', file)]);
  },
};
