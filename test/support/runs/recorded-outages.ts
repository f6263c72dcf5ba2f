import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** The variable that names the file to which the vaults of a run append their outages. */
const variable = 'PROBATIO_OUTAGES';
/** An outage that is rarer is printed with each time, to be found beside a failed test. */
const maxTimes = 5;

/** A log line of a vault, as far as it is read here. */
interface OutageLine {
  readonly time: string;
  readonly err: { readonly message: string; readonly stack?: string };
}

/** Returns the environment by which vaults record outages in `file`. */
export function recordOutagesIn(file: string): NodeJS.ProcessEnv {
  return { [variable]: file };
}

/**
 * Records a log line of a vault that says that a request failed since a service was unavailable. A
 * test that got such a response by chance shows only the status; the line has the cause.
 */
export function recordOutage(line: string): void {
  const file = process.env[variable];
  const isOutage = line.includes('"msg":"request failed"') && /"code":"\w+_unavailable"/.test(line);
  if (file !== undefined && isOutage) appendFileSync(file, line);
}

/**
 * Prints the outages that a run recorded, as comments of TAP: each cause once, with its number and
 * its times, or only the last of many.
 */
export function printOutages(file: string): void {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  const found = lines.map((line) => JSON.parse(line) as OutageLine);
  const byCause = Map.groupBy(found, ({ err }) =>
    `${err.message} ${placeOf(err.stack)}`.replaceAll('\n', ' '),
  );
  for (const [cause, outages] of byCause) {
    const times = outages.length > maxTimes ? [] : outages.map(({ time }) => time);
    const last = outages.at(-1)?.time;
    console.log(
      `# outage: ${outages.length} × ${[...times.slice(0, -1), last].join(', ')}: ${cause}`,
    );
  }
}

/** Returns the first place in a stack. */
function placeOf(stack = ''): string {
  return /\bat .*/.exec(stack)?.[0] ?? '';
}
