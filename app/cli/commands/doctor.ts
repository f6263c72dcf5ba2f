import { parseOptions, type Command } from '../command.ts';
import { examine } from '../doctor/examine.ts';
import { createReport, exitCodes, renderJson, renderLines } from '../doctor/report.ts';
import { readSettings } from '../doctor/settings.ts';

export const doctor: Command = {
  usage: `usage: probatio doctor [--json]

Examines the settings and everything that the app depends on: the database with both logins, the
object store, Redis, the signer with its HSM, the mail server, and the clocks. Prints one line for
each finding, ok, warn or fail, and what to do. Takes at most half a minute. Reads the variables of
the app; run it as the user of the app, on its machine, before the first start or beside a running
app (docs/health.md).

It stores an object of 4 KiB and removes it, and sets a key in Redis for a second. It writes
nothing else, and sends no e-mail.

  --json   prints an object with status and checks, in place of lines

The exit code is 0 if all is well, 1 if there are only warnings, and 2 if something fails.
`,
  async run(args) {
    const { json = false } = parseOptions(args, { json: { type: 'boolean' } });
    const { config, findings } = readSettings(process.env);
    const examined = config === undefined ? [] : await examine(config);
    const report = createReport([...findings, ...examined]);
    const output = json ? renderJson(report) : renderLines(report);
    return { output, exitCode: exitCodes[report.status] };
  },
};
