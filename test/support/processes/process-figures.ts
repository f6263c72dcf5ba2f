import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/**
 * Returns the peak memory (VmHWM) of a process since its start or the last reset, in bytes. Linux
 * only.
 */
export function peakMemoryBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** Resets the peak memory of a process. Linux only. */
export function resetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/**
 * Returns the processor time of a process so far, all threads, user and system, in milliseconds.
 * Linux only.
 */
export function processorMs(pid: number): number {
  const [userTicks, systemTicks] = statOf(pid).slice(11, 13);
  return ((Number(userTicks) + Number(systemTicks)) * 1000) / ticksPerSecond;
}

/**
 * Returns the processor time of the children of a process that have ended and been waited for, in
 * milliseconds. Linux only.
 */
export function reapedProcessorMs(pid: number): number {
  const [userTicks, systemTicks] = statOf(pid).slice(13, 15);
  return ((Number(userTicks) + Number(systemTicks)) * 1000) / ticksPerSecond;
}

/** Returns the ids of the running children of a process. Linux only. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isChild(pid, parent));
}

function isChild(pid: number, parent: number): boolean {
  try {
    return Number(statOf(pid)[1]) === parent;
  } catch {
    // The process has ended since.
    return false;
  }
}

/** Returns the fields of /proc/PID/stat from the state on, which follows the name (proc(5)). */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before ')' may have any characters.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
