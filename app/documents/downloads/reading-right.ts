import type { Readable } from 'node:stream';
import { repeat } from '../../async/repeat.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Log } from '../../telemetry/log.ts';

const checkEveryMs = 5_000;

/**
 * Aborts a download within seconds after its reader loses the right to read the file: a download
 * may take hours, during which the share or the reader's login session may end. If the check itself
 * fails, for example because the database is unavailable, the download continues.
 * @param assertMayRead throws the AppError that a new request of the reader would get.
 */
export function endWithRight(body: Readable, assertMayRead: () => Promise<unknown>, log: Log) {
  const checking = repeat(
    checkEveryMs,
    async () => void (await assertMayRead()),
    (error) => {
      if (!(error instanceof AppError) || error.status >= 500) return;
      log.info({ code: error.code }, 'download aborted: its reader may no longer read the file');
      body.destroy(error);
    },
  );
  body.once('close', () => void checking.stop());
}
