import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { forEachLine } from './log-lines.ts';
import type { ProcessExit, ProcessSpec, WatchdogCommand, WatchdogReport } from './process-spec.ts';

const watchdogProgram = fileURLToPath(new URL('watchdog.ts', import.meta.url));

/** Where standard output and error go: appended to a file, or line by line to a function. */
XX
  readonly file: string } | { onLine: (line: string) => void;
}

export interface GuardedProcess extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process is gone. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal to the process itself. */
  kill(signal: NodeJS.Signals): void;
  /** The orderly end; SIGKILL after `graceMs` (30 s unless told). Resolves when it is gone. */
  stop(options?: { graceMs?: number }): Promise<ProcessExit>;
}

/**
 * Starts a process that the terminal's signals do not reach and that does not outlive this one, even
 * when this one is killed with SIGKILL: a watchdog stops it within 10 s.
 * Throws when it cannot be started.
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
  // Then the last report and the last line of output have come.
  const exited = Promise.all([disconnected, closed]).then(() => {
    start.reject(new Error(`${spec.name}: the watchdog is gone`));
    if (pid !== undefined && !reportedExit) signalQuietly(pid, spec.stopSignal);
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
 * Runs a process to its end under the same guard. Says nothing unless it fails: then it throws with
 * everything the process printed. Also throws when `signal` aborts.
 */
export async function runGuarded(spec: ProcessSpec, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const lines: string[] = [];
  await using child = await spawnGuarded(spec, { onLine: (line) => lines.push(line) });
  const stop = () => child.kill(spec.stopSignal);
  if (signal?.aborted) stop();
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
  const sink = 'file' in output ? openSync(output.file, 'a', 0o600) : 'pipe';
  const watchdog = spawn(process.execPath, [watchdogProgram], {
    detached: true,
    cwd: '/',
    env: {},
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
    // Gone already.
  }
}
