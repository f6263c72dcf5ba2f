/**
 * Adds up the processor time that this process (all threads) spends in the given pieces of work.
 */
export interface CpuMeter {
  readonly ms: number;
  run<T>(work: () => T | Promise<T>): Promise<T>;
}

export function createCpuMeter(): CpuMeter {
  let microseconds = 0;
  return {
    get ms() {
      return microseconds / 1000;
    },
    async run(work) {
      const before = process.cpuUsage();
      const result = await work();
      const { user, system } = process.cpuUsage(before);
      microseconds += user + system;
      return result;
    },
  };
}
