/**
 * The flags with which Node runs `app/main.ts`, here as in production
 * (docs/adr/0004-garbage-collection.md). Bodies that pass through are external memory, for which V8
 * would otherwise mark the whole heap again and again.
 */
export const appFlags: readonly string[] = [
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=300',
  '--max-semi-space-size=4',
];
