import type { Variables } from '../../../signer/protocol/process/environment.ts';
import { tracingVariables } from '../../../signer/protocol/tracing/tracing-settings.ts';
import { Port, Text } from '../definition/forms.ts';
import { setting } from '../definition/setting.ts';
import { hasInternalListener, internalAddress, publicAddress, sharePort } from './listeners.ts';

const loopback = '127.0.0.1';

/** Settings of the metrics. */
export const metricsSettings = {
  title: 'Metrics',
  introduction:
    'With `METRICS_PORT`, the app serves `/metrics` on a listener of its own ' +
    '([metrics.md](metrics.md)). The other listeners never serve it.',
  settings: {
    host: setting('METRICS_HOST', Text.default(loopback), {
      form: 'IP address or host name',
      description:
        'The address on which `/metrics` is served; `0.0.0.0` in a pod that is scraped. Nobody ' +
        'needs a key: let only your monitoring reach it.',
    }),
    port: setting('METRICS_PORT', Port.optional(), {
      whenUnset: 'not served',
      description:
        'The TCP port of `/metrics`. With 0 the system picks a free port. The `tcp://…` that ' +
        'Kubernetes sets for a Service `metrics` counts as not set.',
    }),
  },
  findConflicts: findSharedPort,
};

/** Settings of the traces. The packages of OpenTelemetry read more variables themselves. */
export const tracingSettings = {
  title: 'Traces',
  introduction: 'The signer reads these variables too ([traces.md](traces.md)).',
  settings: {
    endpoint: {
      variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      schema: tracingVariables.OTEL_EXPORTER_OTLP_ENDPOINT,
    },
    sampler: {
      variable: 'OTEL_TRACES_SAMPLER',
      schema: tracingVariables.OTEL_TRACES_SAMPLER,
    },
    share: {
      variable: 'OTEL_TRACES_SAMPLER_ARG',
      schema: tracingVariables.OTEL_TRACES_SAMPLER_ARG,
    },
  },
};

/** Refuses metrics on the address and port of another listener. */
function findSharedPort(variables: Variables): readonly string[] {
  const { METRICS_HOST: host = loopback, METRICS_PORT: port } = variables;
  if (port === undefined) return [];
  const others = [
    publicAddress(variables),
    ...(hasInternalListener(variables) ? [internalAddress(variables)] : []),
  ];
  return others.some((other) => sharePort({ host, port }, other))
    ? ['METRICS_PORT: is the port of another listener too; choose another']
    : [];
}
