import { describeApi } from '../../../wiring/routes.ts';
import { parseOptions, type Command } from '../../command.ts';

export const openapi: Command = {
  usage: `usage: probatio openapi

Prints the OpenAPI document of the API.
`,
  async run(args) {
    parseOptions(args, {});
    return `${JSON.stringify(describeApi(), undefined, 2)}\n`;
  },
};
