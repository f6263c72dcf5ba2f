import { Port, Text } from '../definition/forms.ts';
import { setting } from '../definition/setting.ts';

/** Settings of the metrics. */
export const metricsSettings = {
  title: 'Metrics',
  introduction:
    'With `METRICS_PORT`, the app serves `/metrics` on a listener of its own ' +
    '([metrics.md](metrics.md)). The other listeners never serve it.',
  settings: {
    host: setting('METRICS_HOST', Text.default('127.0.0.1'), {
      form: 'IP address or host name',
      description:
        'The address on which `/metrics` is served. Nobody needs a key: let only your monitoring ' +
        'reach it.',
    }),
    port: setting('METRICS_PORT', Port.optional(), {
      whenUnset: 'not served',
      description:
        'The TCP port of `/metrics`. With 0 the system picks a free port. The `tcp://…` that ' +
        'Kubernetes sets for a Service `metrics` counts as not set.',
    }),
  },
};
