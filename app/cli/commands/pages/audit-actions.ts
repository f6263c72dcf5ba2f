import { describeActions } from '../../../audit-trail/actions-page.ts';
import { listRoutes } from '../../../wiring/routes.ts';
import { parseOptions, type Command } from '../../command.ts';

export const auditActions: Command = {
  usage: `usage: probatio audit-actions

Prints every audit action, and the routes and workers that append it, as Markdown.
`,
  async run(args) {
    parseOptions(args, {});
    return describeActions(listRoutes());
  },
};
