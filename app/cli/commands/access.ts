import { listRoutes } from '../../app.ts';
import { describeAccess } from '../../http/openapi/access-table.ts';
import { parseOptions, type Command } from '../command.ts';

export const access: Command = {
  usage: `usage: probatio access

Prints who may call what, as Markdown.
`,
  async run(args) {
    parseOptions(args, {});
    return describeAccess(listRoutes());
  },
};
