import { readFile } from 'node:fs/promises';
import { describeExit, type GuardedProcess } from './guarded-process.ts';
import { until } from './until.ts';

interface ReadyOptions {
  readonly timeoutMs: number;
  readonly intervalMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Its last lines explain a failure. */
  readonly logFile?: string;
}

/**
 * Waits until `isReady` resolves instead of throwing. Stops the process and throws, with the end of
 * its log, when it exits before that or takes longer than `timeoutMs`.
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
    signal: signal ? AbortSignal.any([signal, over.signal]) : over.signal,
  });
  try {
    await Promise.race([died, polling]);
  } catch (error) {
    await process.stop();
    if (signal?.aborted) throw error;
    const details = [messageOf(error), lastError, logFile ? await lastLines(logFile) : ''];
    throw new Error(details.filter(Boolean).join('\n'), { cause: error });
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
