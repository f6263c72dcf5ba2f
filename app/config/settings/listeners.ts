import { z } from 'zod';
import type { Variables } from '../../../signer/protocol/process/environment.ts';
import { Count, FilePath, List, Port, Text, Url } from '../definition/forms.ts';
import { findMissing, isProduction } from '../definition/production.ts';
import { setting } from '../definition/setting.ts';

/** The longest delay of a timer of Node, in seconds. */
const maxTimerSeconds = 2_147_483;

const loopback = '127.0.0.1';
export const defaultPublicUrl = 'http://127.0.0.1:8080';

/** The host names whose connections do not leave the machine. */
const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

const PublicUrl = Url.refine(isBare, 'has a user, a query or a fragment; leave them out');

/** The public URL for commands that append audit entries, without a default that may be wrong. */
export const requiredPublicUrl = setting('HTTP_PUBLIC_URL', PublicUrl, {
  form: 'the URL at which clients reach the API',
  description: 'Names the vault in the audit entries of the command.',
});

/** The settings of the listeners. Production requires all of them. */
const listenerSettings = {
  host: setting('HOST', Text.default(loopback), {
    form: 'IP address or host name',
    whenUnset: 'required in production, otherwise `127.0.0.1`',
    description:
      'The address on which the public listener accepts connections. `0.0.0.0` accepts them on ' +
      'every IPv4 interface, `::` on every interface. The app speaks plain HTTP: put a proxy ' +
      'that terminates TLS in front of it.',
  }),
  port: setting('PORT', Port.default(8080), {
    whenUnset: 'required in production, otherwise `8080`',
    description: 'The TCP port of the public listener. With 0 the system picks a free port.',
  }),
  publicUrl: setting('HTTP_PUBLIC_URL', PublicUrl.prefault(defaultPublicUrl), {
    form: '`https` URL; `http` outside of production, and for `localhost`, `127.0.0.1` or `[::1]`',
    whenUnset: `required in production, otherwise \`${defaultPublicUrl}\``,
    description:
      'The URL at which clients reach the API. It is the issuer (`iss`) of the access tokens; ' +
      'tokens that were issued under another URL are refused. Audit entries name the vault by ' +
      'it (`issuer`), and the signer signs them only if its `SIGNER_ISSUERS` has it.',
  }),
};

const internalListenerSettings = {
  internalHost: setting('HTTP_INTERNAL_HOST', Text.default(loopback), {
    form: 'IP address or host name',
    whenUnset: 'required in production with `HTTP_INTERNAL_ROUTES=internal`, otherwise `127.0.0.1`',
    description:
      'The address on which the internal listener accepts connections. Do not expose ' +
      'it through an ingress.',
  }),
  internalPort: setting('HTTP_INTERNAL_PORT', Port.default(8081), {
    whenUnset: 'required in production with `HTTP_INTERNAL_ROUTES=internal`, otherwise `8081`',
    description:
      'The TCP port of the internal listener. With 0 the system picks a free port. The ' +
      '`tcp://…` that Kubernetes sets for a Service `http-internal` counts as not set.',
  }),
};

/** Settings of the two HTTP listeners. */
export const httpSettings = {
  title: 'HTTP',
  introduction:
    'The app has a public listener for the API and, with `HTTP_INTERNAL_ROUTES=internal`, an ' +
    'internal one for the routes that take an `X-Internal-Api-Key`.',
  settings: {
    ...listenerSettings,
    trustedProxies: setting(
      'HTTP_TRUSTED_PROXIES',
      List.pipe(z.array(z.union([z.cidrv4(), z.cidrv6()]))).default([]),
      {
        form: 'networks in CIDR notation, separated by commas',
        whenUnset: 'none',
        description:
          'The proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` headers are believed. ' +
          'List only your own proxies: whoever connects from one of these networks can claim ' +
          'any client address and so evade the rate limits.',
      },
    ),
    corsOrigins: setting(
      'HTTP_CORS_ORIGINS',
      List.pipe(z.array(z.url({ protocol: /^https?$/ }))).default([]),
      {
        form: '`http` or `https` origins, separated by commas',
        whenUnset: 'none',
        description:
          'The origins whose pages may call the API from a browser, such as ' +
          '`https://app.example` ([browsers.md](browsers.md)).',
      },
    ),
    drainSeconds: setting('HTTP_DRAIN_SECONDS', Count.max(maxTimerSeconds).default(25), {
      unit: 'seconds',
      description:
        'How long requests may continue after SIGTERM before their connections are closed. For a ' +
        'fifth of it, 5 s at most, idle connections stay open for a further request, and new ' +
        'ones are served, even if there was none, in the first second of this time. Give the ' +
        'process a few seconds more before you kill it.',
    }),
    connections: setting('HTTP_CONNECTIONS', Count.default(4_096), {
      unit: 'connections',
      description:
        'How many connections each listener of a process keeps open. Further connections get 503 ' +
        '`busy`.',
    }),
    connectionsPerAddress: setting('HTTP_CONNECTIONS_PER_ADDRESS', Count.default(256), {
      unit: 'connections',
      description:
        'How many of these connections one address may have; an IPv6 /64 network counts as one ' +
        'address. Trusted proxies are excepted: let them limit their own clients.',
    }),
    requestsPerClient: setting('HTTP_REQUESTS_PER_CLIENT', Count.default(4), {
      unit: 'requests',
      description:
        'How many requests of one user a process serves at a time, or of one client address ' +
        'without an access token. Up to 512 more wait for up to 10 seconds; others get 503 ' +
        '`busy`.',
    }),
    transfersPerUser: setting('HTTP_TRANSFERS_PER_USER', Count.default(8), {
      unit: 'transfers',
      description:
        'How many uploads of parts and downloads of one user a process serves at a time. Up to ' +
        '512 more wait for up to 30 seconds; others get 503 `busy`.',
    }),
    transfers: setting('HTTP_TRANSFERS', Count.default(64), {
      unit: 'transfers',
      description:
        'How many uploads of parts and downloads of all users a process serves at a time. Each ' +
        'occupies a few MiB of memory.',
    }),
    refusalsPerSecond: setting('HTTP_REFUSALS_PER_ADDRESS', Count.default(20), {
      unit: 'refusals each second',
      description:
        'How many refused requests of one client address are answered each second, after a first ' +
        '100: those that no route has handled, such as those with an invalid access token, and ' +
        'those with 429 or `busy`. The responses to others wait for up to 10 seconds.',
    }),
    internalRoutes: setting('HTTP_INTERNAL_ROUTES', z.enum(['internal', 'both']).optional(), {
      whenUnset: '`internal` in production, otherwise `both`',
      description:
        'Where the routes that take an `X-Internal-Api-Key` are served, such as the purge and ' +
        'maintenance: `internal` serves them on the internal listener only; `both` opens no ' +
        'internal listener and serves them on the public one. `both` weakens security: ' +
        'everyone who reaches the API can then try internal API keys.',
    }),
    ...internalListenerSettings,
  },
  findConflicts: findListenerProblems,
};

/** Returns whether the internal routes have a listener of their own. */
export function hasInternalListener(variables: Variables): boolean {
  const { HTTP_INTERNAL_ROUTES: routes } = variables;
  return routes === 'internal' || (routes === undefined && isProduction(variables));
}

function findListenerProblems(variables: Variables): readonly string[] {
  const { HTTP_PUBLIC_URL: publicUrl = '' } = variables;
  const hasOwnListener = hasInternalListener(variables);
  return [
    ...findMissing(variables, Object.values(listenerSettings)),
    ...(hasOwnListener ? findMissing(variables, Object.values(internalListenerSettings)) : []),
    ...(hasOwnListener ? findSharedPort(variables) : []),
    ...(isProduction(variables) && isExposed(publicUrl)
      ? [
          'HTTP_PUBLIC_URL: must begin with https:// in production, except for localhost, ' +
            '127.0.0.1 or [::1]; put TLS in front of the app',
        ]
      : []),
  ];
}

/** Returns whether a URL sends what its clients say through a network without TLS. */
function isExposed(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'http:' && !loopbackNames.has(url.hostname);
}

/** Refuses an internal listener on the address and port of the public one. */
function findSharedPort(variables: Variables): readonly string[] {
  return sharePort(publicAddress(variables), internalAddress(variables))
    ? ['HTTP_INTERNAL_PORT: is the port of the public listener too; choose another']
    : [];
}

interface Address {
  readonly host: string;
  readonly port: string;
}

export function publicAddress({ HOST: host = loopback, PORT: port = '8080' }: Variables): Address {
  return { host, port };
}

export function internalAddress(variables: Variables): Address {
  const { HTTP_INTERNAL_HOST: host = loopback, HTTP_INTERNAL_PORT: port = '8081' } = variables;
  return { host, port };
}

/** Returns whether two listeners would want the same port of the same address. */
export function sharePort(one: Address, other: Address): boolean {
  const overlaps = one.host === other.host || isAny(one.host) || isAny(other.host);
  return overlaps && Number(one.port) === Number(other.port) && Number(one.port) > 0;
}

function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Returns whether a URL has neither user, query nor fragment; true if it is no URL at all. */
function isBare(text: string): boolean {
  const url = URL.parse(text);
  return url === null || [url.username, url.password, url.search, url.hash].join('') === '';
}

/** Settings of the keys that the internal routes take. */
export const internalKeySettings = {
  title: 'Internal API keys',
  settings: {
    file: setting('INTERNAL_API_KEYS_FILE', FilePath.optional(), {
      form: 'path of a JSON file',
      whenUnset: 'no keys',
      description:
        'The SHA-256 hashes of the internal API keys. `probatio api-key create --name N --admin ' +
        '--file F` adds a key. The file must exist at the start. The app reads it again when it ' +
        'changes; while it cannot be used, the keys that were read last remain valid. Without a ' +
        'file every internal API key is refused.',
    }),
  },
};
