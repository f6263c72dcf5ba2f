import type { Certificate } from '../network/certificate.ts';
import { addressOf } from './backends.ts';
import { apply, type ClusterObject, type Kubectl } from './kubectl.ts';
import { confinedPod, secret } from './objects.ts';

/** The Service port of the proxy, and the port on which nginx listens. */
const port = 8443;
const configDirectory = '/etc/ingress';
const tlsDirectory = '/etc/tls';
const user = 10_003;

interface IngressProxyOptions {
  readonly namespace: string;
  readonly kubectl: Kubectl;
  /** The name of the Ingress that says what is served. */
  readonly ingress: string;
  readonly certificate: Certificate;
}

/**
 * Starts nginx as the pod of an ingress controller, which ends TLS and passes on what an Ingress
 * says. Resolves with its address in the cluster.
 */
export async function startIngressProxy(options: IngressProxyOptions): Promise<string> {
  const { namespace, kubectl, ingress, certificate } = options;
  const { spec } = JSON.parse(await kubectl('get', 'ingress', ingress, '--output=json'));
  const labels = { role: 'ingress' };
  const container = {
    name: 'nginx',
    image: 'probatio-lab/backends:lab',
    command: ['nginx', '-c', `${configDirectory}/nginx.conf`],
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
    volumeMounts: [
      { name: 'config', mountPath: configDirectory },
      { name: 'tls', mountPath: tlsDirectory },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
  const volumes = [
    { name: 'config', configMap: { name: 'ingress' } },
    { name: 'tls', secret: { secretName: 'tls' } },
    { name: 'tmp', emptyDir: {} },
  ];
  await apply(namespace, [
    secret('tls', { 'tls.crt': certificate.cert, 'tls.key': certificate.key }),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'ingress' },
      data: { 'nginx.conf': configOf(await listServed(kubectl, spec)) },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'ingress', labels },
      spec: confinedPod({ user, container, volumes }),
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'ingress' },
      spec: { selector: labels, ports: [{ port }] },
    },
  ]);
  await kubectl('wait', '--for=condition=Ready', 'pod/ingress', '--timeout=120s');
  return `${await addressOf(kubectl, 'ingress', port)}:${port}`;
}

interface Served {
  readonly host: string;
  readonly path: string;
  /** The Service and its port, as `name:port`. */
  readonly backend: string;
}

/** Lists what an Ingress serves, with the numbers of the ports that it names. */
async function listServed(kubectl: Kubectl, spec: ClusterObject): Promise<readonly Served[]> {
  const served: Served[] = [];
  for (const { host, http } of spec['rules']) {
    for (const { path, backend } of http.paths) {
      const { name } = backend.service;
      const named = `{.spec.ports[?(@.name=="${backend.service.port.name}")].port}`;
      const number = await kubectl('get', 'service', name, `--output=jsonpath=${named}`);
      served.push({ host, path, backend: `${name}:${number}` });
    }
  }
  return served;
}

/** Writes a configuration that streams bodies, and tells the vault the address of the client. */
function configOf(served: readonly Served[]): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path /tmp/${name};`,
  );
  const servers = served.map(
    ({ host, path, backend }) => `
      server {
        listen ${port} ssl;
        server_name ${host};
        location ${path} {
          proxy_pass http://${backend};
          proxy_http_version 1.1;
          proxy_set_header Connection '';
          proxy_set_header Host $http_host;
          proxy_set_header X-Forwarded-For $remote_addr;
          proxy_set_header X-Forwarded-Proto https;
        }
      }`,
  );
  return `
    daemon off;
    pid /tmp/nginx.pid;
    error_log /dev/stderr;
    events {}
    http {
      access_log /dev/stdout;
      ${temporary.join('\n      ')}
      ssl_certificate ${tlsDirectory}/tls.crt;
      ssl_certificate_key ${tlsDirectory}/tls.key;
      client_max_body_size 0;
      proxy_request_buffering off;
      proxy_buffering off;
      server {
        listen ${port} ssl default_server;
        return 404;
      }${servers.join('')}
    }
  `;
}
