import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** The variable that names the file to which the vaults of a run append their outages. */
const variable = 'PROBATIO_OUTAGES';
const maxPrinted = 100;
const maxCharacters = 400;

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

/** Prints the last outages that a run recorded, as comments of TAP. */
export function printOutages(file: string): void {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  for (const line of lines.slice(-maxPrinted)) {
    console.log(`# outage: ${line.slice(0, maxCharacters)}`);
  }
}
