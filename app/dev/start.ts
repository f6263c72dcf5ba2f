/**
 * `npm start`: the whole product on this machine, until Ctrl-C. PORT and HOST say where the API
 * listens (8080 on 127.0.0.1); the one argument is another place for the data than `var`.
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
// The terminal may go away before the stack has stopped.
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
    .safeParse(process.env['PORT'] || 8080);
  if (!port.success) throw new Error('PORT is not a port number');
  return { host: process.env['HOST'] || '127.0.0.1', port: port.data || (await freePort()) };
}
