import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

interface Client {
  /**
   * The client's network address: the rightmost untrusted hop of X-Forwarded-For if the peer of the
   * socket is a trusted proxy, otherwise that peer.
   */
  readonly address: string;
  /**
   * Whether X-Forwarded-For has a hop before this address: then the address says that it passed on
   * the request of another client.
   */
  readonly isPassedOn: boolean;
}

export interface ProxyTrust {
  /** Returns whether an address, as a socket gives it, is a trusted proxy. */
  isProxy(address: string): boolean;
  /** Returns the client that sent a request. */
  clientOf(request: IncomingMessage): Client;
  /** Returns whether a trusted proxy states that the client used https. */
  isSecure(request: IncomingMessage): boolean;
}

/**
 * Creates the rules for forwarding headers.
 * @param cidrs networks of trusted proxies; without any, forwarding headers are ignored.
 */
export function createProxyTrust(cidrs: readonly string[]): ProxyTrust {
  const trusted = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', prefix] = cidr.split('/');
    trusted.addSubnet(network, Number(prefix), isIPv6(network) ? 'ipv6' : 'ipv4');
  }
  const isTrusted = (address: string) =>
    isIP(address) !== 0 && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

  return {
    isProxy: (address) => isTrusted(plainAddress(address)),
    clientOf(request) {
      let address = plainAddress(request.socket.remoteAddress ?? '');
      const hops = String(request.headers['x-forwarded-for'] ?? '')
        .split(',')
        .map((hop) => plainAddress(hop.trim()));
      while (isTrusted(address) && isIP(hops.at(-1) ?? '') !== 0) address = hops.pop() ?? address;
      return { address, isPassedOn: (hops.at(-1) ?? '') !== '' };
    },
    isSecure(request) {
      return (
        isTrusted(plainAddress(request.socket.remoteAddress ?? '')) &&
        request.headers['x-forwarded-proto'] === 'https'
      );
    },
  };
}

/** Converts an IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) to IPv4. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
