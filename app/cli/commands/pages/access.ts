import { listRoutes } from '../../../wiring/routes.ts';
import { describeAccess } from '../../../http/openapi/access-table.ts';
import { parseOptions, type Command } from '../../command.ts';

export const access: Command = {
  usage: `usage: probatio access

Prints the access rights that every route requires, as Markdown.
`,
  async run(args) {
    parseOptions(args, {});
    return describeAccess(listRoutes());
  },
};
