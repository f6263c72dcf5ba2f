/** Stops the calling thread for `ms`, as a machine without a free processor does. */
export function stopThread(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
