import dns from 'node:dns';

const { lookup } = dns;

/**
 * Makes names under `localhost` resolve to this machine, as RFC 6761 has it and many systems don't.
 * Returns the names that are asked for from now on.
 */
export function resolveLocalhostNames(): Set<string> {
  const asked = new Set<string>();
  const resolve = (hostname: string, ...rest: [dns.LookupAllOptions, never]) => {
    asked.add(hostname);
    lookup(hostname.endsWith('.localhost') ? '127.0.0.1' : hostname, ...rest);
  };
  dns.lookup = Object.assign(resolve, lookup);
  return asked;
}
