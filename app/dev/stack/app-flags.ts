/**
 * How Node runs `app/main.ts`, here as elsewhere (docs/adr/0004-garbage-collection.md): bodies that
 * pass through are external memory, for which V8 would mark the whole heap again and again.
 */
export const appFlags: readonly string[] = [
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=300',
  '--max-semi-space-size=4',
];
