import { exitCodes } from '../../../signer/protocol/process/exit-codes.ts';
import { sleep } from '../../async/wake-signal.ts';
import { parseOptions, UsageError, type Command, type Ended } from '../command.ts';
import {
  internalApiOptions,
  internalApiUsage,
  openInternalApi,
  type InternalApi,
} from '../internal-api.ts';
import { createPage, renderJson, renderLines, type Page } from '../status/page.ts';
import { askVault } from '../status/vault.ts';

/** Milliseconds between two pages of `--watch`. */
const redrawMs = 5_000;
/** Clears a terminal, and moves the cursor to its first line. */
const clearScreen = '\u001b[2J\u001b[H';

export const status: Command = {
  usage: `usage: probatio status [--watch] [--json] [--url URL] [--key-file FILE]

Prints a page about a running vault: its health, raised alerts, the audit backlog, dead letters,
signing keys, the signer, high-water marks, maintenance tasks, the outbox and jobs. Each line begins
with ok or look, and a line with look ends with what to do: a command, or a page of the
documentation. The thresholds are those of the alerts. Changes nothing in the vault.

  --watch            prints the page every ${redrawMs / 1_000} seconds until Ctrl+C
  --json             prints an object with status, checkedAt and checks in one line
${internalApiUsage}
The exit code is 0 if all is well, 1 if something needs a look or the vault does not answer, and 2
if the command was called incorrectly or a setting is wrong, such as the URL or the key. With
--watch it is the one of the last page.
`,
  async run(args) {
    const {
      watch = false,
      json = false,
      ...values
    } = parseOptions(args, {
      watch: { type: 'boolean' },
      json: { type: 'boolean' },
      ...internalApiOptions,
    });
    const api = await openInternalApi(values).catch((cause: unknown) => {
      throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
    });
    const render = json ? renderJson : renderLines;
    if (watch) return drawUntilInterrupted(api, json ? render : (page) => frame(api, page));
    const page = await look(api, new AbortController().signal);
    return ended(page, render(page));
  },
};

async function look(api: InternalApi, stop: AbortSignal): Promise<Page> {
  const answers = await askVault(api, stop);
  return createPage(answers, new Date());
}

function ended({ status: found }: Page, output: string): Ended {
  return { output, exitCode: found === 'ok' ? exitCodes.ok : exitCodes.failed };
}

/** Prints pages until SIGINT or SIGTERM. Resolves with the end after the last page. */
async function drawUntilInterrupted(
  api: InternalApi,
  render: (page: Page) => string,
): Promise<Ended> {
  const stopping = new AbortController();
  const { signal } = stopping;
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  let exitCode: number = exitCodes.failed;
  while (!signal.aborted) {
    const page = await look(api, signal);
    if (signal.aborted) break;
    ({ exitCode } = ended(page, ''));
    process.stdout.write(render(page));
    await sleep(redrawMs, signal);
  }
  return { output: '', exitCode };
}

/** Renders a page with a line above it that says when it was made. */
function frame({ origin }: InternalApi, page: Page): string {
  const time = page.checkedAt.toISOString().replace(/\.\d+/, '');
  const looks = page.checks.filter(({ status: found }) => found === 'look').length;
  const head = `probatio status of ${origin} at ${time}, ${looks} to look at; Ctrl+C ends it\n`;
  return `${process.stdout.isTTY ? clearScreen : ''}${head}\n${renderLines(page)}\n`;
}
