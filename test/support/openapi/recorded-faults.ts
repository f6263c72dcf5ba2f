import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createChecker, type Checker, type Exchange } from './checker.ts';
import { readApiDocument } from './document.ts';

/** The variable that names the file to which the test files of a run append faults. */
const variable = 'PROBATIO_API_FAULTS';

let checker: Checker | undefined;
const known = new Set<string>();

/** Returns the environment by which test files record faults in `file`. */
export function recordIn(file: string): NodeJS.ProcessEnv {
  return { [variable]: file };
}

/**
 * Records how an exchange with a vault differs from openapi.json. The run fails at its end, with
 * all differences of all test files.
 */
export function recordFaults(exchange: Exchange): void {
  const file = process.env[variable];
  if (file === undefined) return;
  checker ??= createChecker(readApiDocument());
  const { method, url, status } = exchange;
  for (const fault of checker.check(exchange)) {
    const line = `${method} ${url.replaceAll(/[0-9a-f-]{36}/g, '…')} ${status}: ${fault}\n`;
    if (known.has(line)) continue;
    known.add(line);
    appendFileSync(file, line);
  }
}

/** Returns the differences that a run recorded, each once. */
export function readFaults(file: string): readonly string[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return [...new Set(lines.filter((line) => line !== ''))].toSorted();
}
