/** How the connections of a login are used at this moment. */
export interface ConnectionUse {
  /** Number of transactions that have a connection. */
  readonly used: number;
  /** Number of transactions that wait for one. */
  readonly waiting: number;
}

export type ConnectionCount = ReturnType<typeof countConnections>;

/** Counts the transactions of one login. */
export function countConnections() {
  let begun = 0;
  let used = 0;
  return {
    get used(): number {
      return used;
    },
    get waiting(): number {
      return begun - used;
    },
    /** Counts a transaction that waits for a connection until `use` is called. */
    async during<T>(transaction: () => Promise<T>): Promise<T> {
      begun += 1;
      try {
        return await transaction();
      } finally {
        begun -= 1;
      }
    },
    /** Counts the use of a connection, within `during`. */
    async use<T>(work: () => Promise<T>): Promise<T> {
      used += 1;
      try {
        return await work();
      } finally {
        used -= 1;
      }
    },
  };
}
