export type Silence = ReturnType<typeof createSilence>;

/**
 * Creates the record of whether Postgres is silent, which all connections of a process share: a
 * statement or a login had no response in time, and nothing has had one since. The next transaction
 * is then given up soon, so that a request that cleans up after a failed transaction does not wait
 * for Postgres twice.
 */
export function createSilence() {
  let isSilent = false;
  return {
    get isSilent() {
      return isSilent;
    },
    begin(): void {
      isSilent = true;
    },
    end(): void {
      isSilent = false;
    },
  };
}
