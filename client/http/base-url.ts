/**
 * Throws TypeError unless the base URL of a vault is absolute and protects what is sent: https, or
 * http to this machine, as for development. Over http to another machine, anybody on the way could
 * take the session's tokens and serve files and keys of their own.
 */
export function assertProtected(baseUrl: string): void {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) return;
  throw new TypeError(
    'The base URL of a vault must be an https URL, or http with a loopback address.',
  );
}

/** Returns whether the host of a parsed URL is this machine (RFC 6761 §6.3, RFC 1122 §3.2.1.3). */
function isLoopback(hostname: string): boolean {
  return (
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname) ||
    /(^|\.)localhost$/.test(hostname)
  );
}
