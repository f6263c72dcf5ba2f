import { readFileSync } from 'node:fs';
import { describeConfiguration } from '../../../config/configuration-page.ts';
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
    return describeConfiguration([readSchema(file)]);
  },
};

/** Reads a schema from a file, which may be a pipe. Throws UsageError. */
function readSchema(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new UsageError('--schema must name a file of JSON that can be read', { cause });
  }
}
