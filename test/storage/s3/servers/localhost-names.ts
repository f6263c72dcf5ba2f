import dns from 'node:dns';

const { lookup } = dns;

/**
 * Makes names under `localhost` resolve to this machine, as RFC 6761 requires and many systems do
 * not. Returns the set of names looked up from now on.
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
