import { describeApi } from '../../../wiring/routes.ts';
import { parseOptions, type Command } from '../../command.ts';

export const openapi: Command = {
  usage: `usage: probatio openapi [--aliases]

Prints the OpenAPI document of the API. Routes that answer at several paths are described at one,
which names the others.

  --aliases   describe every path
`,
  async run(args) {
    const { aliases: withAliases } = parseOptions(args, {
      aliases: { type: 'boolean', default: false },
    });
    return `${JSON.stringify(describeApi({ withAliases }), undefined, 2)}\n`;
  },
};
