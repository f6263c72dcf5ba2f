/** Variables of the system, of shells and of Node that resemble ours or begin like ours. */
const systemVariables: ReadonlySet<string> = new Set([
  'ALL_PROXY',
  'HOME',
  'HOSTNAME',
  'HOSTTYPE',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'LANG',
  'LOGNAME',
  'MAIL',
  'NO_PROXY',
  'OLDPWD',
  'PATH',
  'PWD',
  'SHELL',
  'SHLVL',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
]);

/** Names that Kubernetes makes of each Service of a namespace. */
const serviceName =
  /_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const serviceAddress = /^(tcp|udp|sctp):\/\//;

/**
 * Returns whether a variable is certainly not meant for us: one of the system, or one that
 * Kubernetes makes of a Service. Of a Service `http-internal` it makes `HTTP_INTERNAL_PORT`, which
 * is also a setting; its value `tcp://10.0.0.7:80` tells them apart.
 */
export function isOfOthers(name: string, value: string): boolean {
  return (
    systemVariables.has(name.toUpperCase()) ||
    serviceName.test(name) ||
    (name.endsWith('_PORT') && serviceAddress.test(value))
  );
}
