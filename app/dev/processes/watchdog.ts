/**
 * This program, the watchdog, runs one process for a supervisor, in a session of its own. Ctrl-C in
 * the terminal reaches neither the watchdog nor the process, so the supervisor decides in which
 * order processes stop. When the supervisor ends for any reason, the IPC channel closes and the
 * watchdog stops the process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { acquireLock, type Lock } from './lock.ts';
import type { ProcessSpec, WatchdogCommand, WatchdogReport } from './process-spec.ts';

const orphanGraceMs = 6_000;
/** Milliseconds to wait, after the process has ended, for output of its own child processes. */
const lastOutputMs = 1_000;
const predecessorWaitMs = 15_000;

let child: ChildProcess | undefined;
let stopSignal: NodeJS.Signals = 'SIGTERM';
/** Keeps references to the locks, since a garbage-collected lock is released. */
const locks: Lock[] = [];

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

process.on('message', (command: WatchdogCommand) => {
  if (command.type === 'start') start(command.spec, command.relayOutput);
  else child?.kill(command.signal);
});

process.on('disconnect', () => {
  if (child === undefined) process.exit();
  child.kill(stopSignal);
  setTimeout(() => child?.kill('SIGKILL'), orphanGraceMs);
});

function start(spec: ProcessSpec, relayOutput: boolean): void {
  if (spec.lockFile !== undefined) {
    const lock = acquireLock(spec.lockFile, predecessorWaitMs);
    if (lock === undefined)
      return end({ type: 'failed', reason: 'an earlier process still holds the lock: stop it' });
    locks.push(lock);
  }
  stopSignal = spec.stopSignal;
  const directories = (spec.directories ?? []).map((path) =>
    openSync(path, constants.O_RDONLY | constants.O_DIRECTORY),
  );
  const output = relayOutput ? 'pipe' : 'inherit';
  child = spawn(spec.command, spec.args, {
    cwd: spec.cwd,
    env: spec.env,
    stdio: [spec.input === undefined ? 'ignore' : 'pipe', output, output, ...directories],
    ...spec.user,
  });
  for (const descriptor of directories) closeSync(descriptor);
  child.on('error', (error) => end({ type: 'failed', reason: error.message }));
  child.on('exit', (code, signal) => {
    const finish = () => end({ type: 'exited', code, signal });
    child?.on('close', finish);
    setTimeout(finish, lastOutputMs);
  });
  if (child.pid === undefined) return;
  relay(child.stdout, process.stdout);
  relay(child.stderr, process.stderr);
  child.stdin?.on('error', () => undefined).end(spec.input);
  report({ type: 'started', pid: child.pid });
}

/**
 * Relays the output of the process. Once the destination fails, discards the output, so that the
 * process is not blocked and can still shut down in an orderly way.
 */
function relay(source: Readable | null, destination: Writable): void {
  source?.pipe(destination, { end: false });
  destination.on('error', () => source?.unpipe(destination).resume());
}

function report(message: WatchdogReport): void {
  if (process.connected) process.send?.(message);
}

function end(message: WatchdogReport): void {
  if (!process.connected || process.send === undefined) process.exit();
  process.send(message, () => process.exit());
}
