import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';

export interface ProxyTrust {
  /** The rightmost hop of X-Forwarded-For that is no trusted proxy; the socket's peer otherwise. */
  clientAddress(request: IncomingMessage): string;
  /** Whether the client's hop was https, as far as a trusted proxy says so. */
  isSecure(request: IncomingMessage): boolean;
}

/** @param cidrs networks of trusted proxies; with none, forwarding headers are ignored. */
export function createProxyTrust(cidrs: readonly string[]): ProxyTrust {
  const trusted = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', prefix] = cidr.split('/');
    trusted.addSubnet(network, Number(prefix), isIPv6(network) ? 'ipv6' : 'ipv4');
  }
  const isTrusted = (address: string) =>
    isIP(address) !== 0 && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

  return {
    clientAddress(request) {
      let address = plainAddress(request.socket.remoteAddress ?? '');
      const hops = String(request.headers['x-forwarded-for'] ?? '').split(',');
      while (isTrusted(address) && hops.length > 0) {
        const hop = plainAddress((hops.pop() ?? '').trim());
        if (isIP(hop) === 0) break;
        address = hop;
      }
      return address;
    },
    isSecure(request) {
      return (
        isTrusted(plainAddress(request.socket.remoteAddress ?? '')) &&
        request.headers['x-forwarded-proto'] === 'https'
      );
    },
  };
}

/** IPv4 in IPv6 clothing (`::ffff:10.0.0.1`) is IPv4. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
