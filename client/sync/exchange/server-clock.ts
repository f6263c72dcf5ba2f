/** Less than the vault's clock shows in whole seconds, and a request takes. */
const trifleMs = 2_000;
/** Beyond it a time has no form that the vault takes. */
const latestMs = Date.UTC(9999);

/** How far the vault's clock is from this device's. */
export interface ServerClock {
  /** The vault's time, as far as it is known; ms since 1970. */
  now(): number;
  /** The vault's time at a moment of this device's. */
  at(deviceMs: number): number;
  /** What an answer that has just come says, as HTTP's Date does; undefined if nothing. */
  learn(serverTime: string | null | undefined): void;
}

export function createServerClock(deviceNow: () => Date): ServerClock {
  let aheadMs = 0;
  const at = (deviceMs: number) => deviceMs + aheadMs;
  return {
    at,
    now: () => at(deviceNow().getTime()),
    learn(serverTime) {
      const server = Date.parse(serverTime ?? '');
      if (!(server >= 0 && server < latestMs)) return;
      const difference = server - deviceNow().getTime();
      aheadMs = Math.abs(difference) < trifleMs ? 0 : difference;
    },
  };
}
