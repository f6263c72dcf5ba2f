import { readFile } from 'node:fs/promises';
import { describeExit, type GuardedProcess } from './guarded-process.ts';
import { until } from './until.ts';

interface ReadyOptions {
  readonly timeoutMs: number;
  readonly intervalMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** The log file of the process. Error messages include its last lines. */
  readonly logFile?: string;
}

/**
 * Polls `isReady` until it resolves instead of throwing. If the process ends first, if `timeoutMs`
 * have passed or if `signal` aborts, stops the process and throws. Unless `signal` aborted, the
 * error message contains the last lines of `logFile`.
 */
export async function untilReady(
  process: GuardedProcess,
  isReady: () => Promise<unknown>,
  { timeoutMs, intervalMs, signal, logFile }: ReadyOptions,
): Promise<void> {
  let lastError = '';
  const answers = async () => {
    try {
      await isReady();
      return true;
    } catch (error) {
      lastError = messageOf(error);
      return false;
    }
  };
  const died = process.exited.then((exit) => {
    throw new Error(`${process.name} ended before it was ready (${describeExit(exit)})`);
  });
  const over = new AbortController();
  const polling = until(answers, {
    what: process.name,
    timeoutMs,
    intervalMs,
    signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]),
  });
  try {
    await Promise.race([died, polling]);
  } catch (error) {
    await process.stop();
    if (signal?.aborted === true) throw error;
    const logEnd = logFile === undefined ? '' : await lastLines(logFile);
    const details = [messageOf(error), lastError, logEnd].filter((detail) => detail !== '');
    throw new Error(details.join('\n'), { cause: error });
  } finally {
    over.abort();
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function lastLines(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-8).join('\n');
}
