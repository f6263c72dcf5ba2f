/** Size of every part that the benches send. */
export const partBytes = 16 * 2 ** 20;
