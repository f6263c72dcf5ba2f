import { describeLimits } from '../../../wiring/limits-page.ts';
import { listRoutes } from '../../../wiring/routes.ts';
import { parseOptions, type Command } from '../../command.ts';

export const limits: Command = {
  usage: `usage: probatio limits

Prints what one user, one client address and one process may use, as Markdown.
`,
  async run(args) {
    parseOptions(args, {});
    return describeLimits(listRoutes());
  },
};
