import type { Readable } from 'node:stream';
import { AppError } from '../../errors/app-error.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';

const lookEveryMs = 5_000;

/**
 * Breaks off what is being sent soon after its reader would be refused: a file may take hours, and
 * its share or its reader's session may end meanwhile. Without an answer the sending goes on.
 * @param assertMayRead throws the AppError that another request would get.
 */
export function endWithRight(body: Readable, assertMayRead: () => Promise<unknown>, log: Log) {
  const looking = repeat(
    lookEveryMs,
    async () => void (await assertMayRead()),
    (error) => {
      if (!(error instanceof AppError) || error.status >= 500) return;
      log.info({ code: error.code }, 'a download ended, since its reader may no longer read it');
      body.destroy(error);
    },
  );
  body.once('close', () => void looking.stop());
}
