import type { Readable } from 'node:stream';
import { repeat } from '../../async/repeat.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Log } from '../../telemetry/log.ts';

const checkEveryMs = 5_000;

/**
 * Ends a download within seconds once its reader may no longer read the file: sending it may take
 * hours, and the share or the reader's login session may end meanwhile. If the check itself fails,
 * the download continues.
 * @param assertMayRead throws the AppError that a new request of the reader would get.
 */
export function endWithRight(body: Readable, assertMayRead: () => Promise<unknown>, log: Log) {
  const checking = repeat(
    checkEveryMs,
    async () => void (await assertMayRead()),
    (error) => {
      if (!(error instanceof AppError) || error.status >= 500) return;
      log.info({ code: error.code }, 'a download ended, since its reader may no longer read it');
      body.destroy(error);
    },
  );
  body.once('close', () => void checking.stop());
}
