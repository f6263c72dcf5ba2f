import type { ExecutionContext } from 'ava';
import { StartRefused } from '../../app/errors/start-refused.ts';
import { tablesOf, type DrillVault } from './drill-vault.ts';

/**
 * Asserts that a start is refused and writes nothing. Resolves with the missing parts, the id of
 * the mark by which to accept the state, and the whole message.
 */
export async function refused(t: ExecutionContext, drill: DrillVault) {
  const before = await tablesOf(drill);
  const { message } = await t.throwsAsync(drill.start(), { instanceOf: StartRefused });
  t.deepEqual(await tablesOf(drill), before);
  const [, missing = '', markId = ''] =
    new RegExp(
      '^refused to start, as these are backups of different moments: (.*?)\\..* ' +
        'run `probatio restored --accept ([^`]+)` to accept the losses',
    ).exec(message) ?? [];
  return { missing, markId, message };
}
