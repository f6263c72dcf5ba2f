import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** The most memory the process had (VmHWM) since it began or this was last reset, in bytes. Linux. */
export function peakMemoryBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** From now on the peak is that of what comes. Linux. */
export function resetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Processor time of all threads of the process so far, user and system, in milliseconds. Linux. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name before ')' may hold anything; then come state and further fields (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks, systemTicks] = [fields[11], fields[12]];
  return ((Number(userTicks) + Number(systemTicks)) * 1000) / ticksPerSecond;
}
