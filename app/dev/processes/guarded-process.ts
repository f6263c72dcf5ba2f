import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { forEachLine } from './log-lines.ts';
import type { ProcessExit, ProcessSpec, WatchdogCommand, WatchdogReport } from './process-spec.ts';

const watchdogProgram = fileURLToPath(new URL('watchdog.ts', import.meta.url));

/**
 * Destination of a process's standard output and error: a file to append to, or a function that is
 * called with each line.
 */
export type ProcessOutput = { readonly file: string } | { readonly onLine: (line: string) => void };

export interface GuardedProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process has ended. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal to the process itself, not to its watchdog. */
  kill(signal: NodeJS.Signals): void;
  /**
   * Sends the stop signal, and SIGKILL if the process still runs after `graceMs` (default 30 s).
   * Resolves when the process has ended.
   */
  stop(options?: { readonly graceMs?: number }): Promise<ProcessExit>;
}

/**
 * Starts a process under a watchdog. Signals from the terminal do not reach the process. If the
 * current process ends, even by SIGKILL, the watchdog stops the started process within 10 s. Throws
 * if the process cannot be started.
 */
export async function spawnGuarded(
  spec: ProcessSpec,
  output: ProcessOutput,
): Promise<GuardedProcess> {
  const watchdog = spawnWatchdog(output);
  const start = Promise.withResolvers<number>();
  let pid: number | undefined;
  let reportedExit: ProcessExit | undefined;
  watchdog.on('error', start.reject);
  watchdog.on('message', (report: WatchdogReport) => {
    if (report.type === 'started') {
      pid = report.pid;
      start.resolve(report.pid);
    }
    if (report.type === 'failed') start.reject(new Error(`${spec.name}: ${report.reason}`));
    if (report.type === 'exited') reportedExit = { code: report.code, signal: report.signal };
  });
  const disconnected = new Promise((resolve) => watchdog.once('disconnect', resolve));
  const closed = new Promise((resolve) => watchdog.once('close', resolve));
  // After both events, the last report and the last line of output have arrived.
  const exited = Promise.all([disconnected, closed]).then(() => {
    start.reject(new Error(`${spec.name}: the watchdog ended unexpectedly`));
    if (pid !== undefined && reportedExit === undefined) signalQuietly(pid, spec.stopSignal);
    return reportedExit ?? { code: null, signal: null };
  });

  const send = (command: WatchdogCommand) => {
    if (watchdog.connected) watchdog.send(command, () => undefined);
  };
  send({ type: 'start', spec, relayOutput: 'onLine' in output });
  const startedPid = await start.promise;

  const stop = async ({ graceMs = 30_000 } = {}) => {
    const timer = new AbortController();
    send({ type: 'signal', signal: spec.stopSignal });
    delay(graceMs, undefined, { signal: timer.signal }).then(
      () => send({ type: 'signal', signal: 'SIGKILL' }),
      () => undefined,
    );
    try {
      return await exited;
    } finally {
      timer.abort();
    }
  };
  return {
    name: spec.name,
    pid: startedPid,
    exited,
    kill: (signal) => send({ type: 'signal', signal }),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

/**
 * Runs a process under a watchdog, as `spawnGuarded` does, and resolves when the process has ended
 * with exit code 0. Prints nothing. Throws an error with the whole output if the process fails. An
 * abort of `signal` stops the process; the call then throws the signal's reason.
 */
export async function runGuarded(spec: ProcessSpec, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const lines: string[] = [];
  await using child = await spawnGuarded(spec, { onLine: (line) => lines.push(line) });
  const stop = () => child.kill(spec.stopSignal);
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop);
  const exit = await child.exited;
  signal?.removeEventListener('abort', stop);
  signal?.throwIfAborted();
  if (exit.code !== 0) {
    throw new Error([`${spec.name} failed (${describeExit(exit)})`, ...lines].join('\n'));
  }
}

export function describeExit({ code, signal }: ProcessExit): string {
  return signal ?? `exit code ${String(code)}`;
}

function spawnWatchdog(output: ProcessOutput): ChildProcess {
  // Shared compiled code halves the cost of a start.
  const cache = process.env['NODE_COMPILE_CACHE'];
  const sink = 'file' in output ? openSync(output.file, 'a', 0o600) : 'pipe';
  const watchdog = spawn(process.execPath, [watchdogProgram], {
    detached: true,
    cwd: '/',
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
    stdio: ['ignore', sink, sink, 'ipc'],
  });
  if (typeof sink === 'number') closeSync(sink);
  if ('onLine' in output) {
    forEachLine(watchdog.stdout, output.onLine);
    forEachLine(watchdog.stderr, output.onLine);
  }
  return watchdog;
}

function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended, so there is nothing to signal.
  }
}
