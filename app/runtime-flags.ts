/**
 * The V8 flags with which the app runs (docs/adr/0004-garbage-collection.md). The bodies that the
 * app relays count as external memory, and without these flags V8 would therefore mark the whole
 * heap again and again.
 */
const flags: readonly string[] = [
  '--external-memory-accounted-in-global-limit',
  '--heap-growing-percent=100',
  '--max-semi-space-size=4',
];

/** Returns the flags that are not among the arguments of Node, with whatever value. */
export function missingFlags(execArgv: readonly string[]): readonly string[] {
  const given = new Set(execArgv.map(nameOf));
  return flags.filter((flag) => !given.has(nameOf(flag)));
}

/** Returns the name of a flag; V8 takes underscores for hyphens. */
function nameOf(flag: string): string {
  return flag.replace(/=.*$/, '').replaceAll('_', '-');
}
