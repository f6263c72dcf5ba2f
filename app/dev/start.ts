/**
 * Runs the app and all its services on this machine until Ctrl-C (`npm start`). The API listens on
 * HOST and PORT (default 127.0.0.1 and 8080). The only argument is the data directory (default
 * `var`).
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { localUrl, type Listen } from './stack/app-environment.ts';
import { freePort } from './processes/free-port.ts';
import { internalKeyFiles } from './stack/internal-key.ts';
import { projectFile } from './files/project.ts';
import { readableLine } from './stack/readable-log.ts';
import { stopSignals } from './processes/stop-signals.ts';
import { runStack } from './stack/supervisor.ts';

const signal = stopSignals();
const directory = resolve(process.argv[2] ?? projectFile('var'));
// The terminal may be closed before the stack has stopped; failed writes to it are ignored.
process.stdout.on('error', () => undefined);

try {
  const listen = await readListen();
  const begin = performance.now();
  await runStack({
    directory,
    listen,
    signal,
    log: (source, line) => console.log(readableLine(source, line)),
    onReady: ({ layout }) => {
      const seconds = ((performance.now() - begin) / 1000).toFixed(1);
      console.log(
        [
          '',
          `Probatio is ready (${seconds} s). Ctrl-C stops it.`,
          `  API       ${localUrl(listen)}`,
          `  Explorer  ${localUrl(listen)}/api/docs`,
          `  E-mails   ${layout.mail}`,
          `  Key       ${internalKeyFiles(layout).key} (X-Internal-Api-Key)`,
          '',
        ].join('\n'),
      );
    },
  });
} catch (error) {
  if (!signal.aborted) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}

async function readListen(): Promise<Listen> {
  const port = z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .safeParse(readVariable('PORT') ?? 8080);
  if (!port.success) throw new Error('PORT must be a port number, or 0 for a free port');
  return {
    host: readVariable('HOST') ?? '127.0.0.1',
    port: port.data === 0 ? await freePort() : port.data,
  };
}

/** Returns an environment variable, or undefined if it is not set or empty. */
function readVariable(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}
