import { isIPv6 } from 'node:net';

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

/** Returns whether a host, as in a URL, is this machine. URL spells `::1` as `[::1]`. */
export function isLoopback(host: string): boolean {
  return loopback.test(host);
}

/**
 * Returns the network that counts as one client, in one spelling: an IPv4 address itself, also if
 * it is mapped into IPv6; the /64 of an IPv6 address, as `2001:db8:0:7::/64`; other text unchanged.
 */
export function networkOf(clientAddress: string): string {
  const [withoutZone = ''] = clientAddress.split('%');
  if (!isIPv6(withoutZone)) return clientAddress;
  const groups = groupsOf(withoutZone);
  const [, , , , , mark = '', high = '', low = ''] = groups;
  if (mark === 'ffff' && groups.slice(0, 5).every((group) => group === '0')) {
    return [...octets(high), ...octets(low)].join('.');
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}

/** Returns the eight groups of an IPv6 address, in lower case and without leading zeros. */
function groupsOf(address: string): string[] {
  // The URL parser accepts every spelling and writes the canonical one (RFC 5952).
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = canonical
    .split('::')
    .map((side) => side.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...zeros, ...tail];
}

function octets(group: string): [number, number] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
