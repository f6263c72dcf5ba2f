/**
 * Clock differences below this are ignored: HTTP dates are in whole seconds, and requests take
 * time.
 */
const toleranceMs = 2_000;
/** Times from the year 9999 on are ignored, because they have no form that the vault accepts. */
const latestMs = Date.UTC(9999);

export type ServerClock = ReturnType<typeof createServerClock>;

/** Creates an estimate of the vault's clock from the times of its responses. */
export function createServerClock(deviceNow: () => Date) {
  let aheadMs = 0;

  /** Converts a time of this device's clock to the vault's clock, in ms since 1970. */
  const at = (deviceMs: number): number => deviceMs + aheadMs;

  return {
    at,
    /** Returns the vault's present time, as far as it is known, in ms since 1970. */
    now: (): number => at(deviceNow().getTime()),
    /**
     * Adjusts the estimate by the time in a response that has just arrived; ignores missing or
     * invalid times.
     */
    learn(serverTime: string | null | undefined): void {
      const server = Date.parse(serverTime ?? '');
      if (!(server >= 0 && server < latestMs)) return;
      const difference = server - deviceNow().getTime();
      aheadMs = Math.abs(difference) < toleranceMs ? 0 : difference;
    },
  };
}
