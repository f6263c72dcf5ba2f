import { STATUS_CODES } from 'node:http';
import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { errorCodes } from '../../errors/error-codes.ts';
import type { RequestObserver } from '../../http/requests/request-context.ts';

/** The methods that OpenTelemetry knows; others count together. */
const methods: readonly string[] = [
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
];

/** The buckets that OpenTelemetry advises for http.server.request.duration, in seconds. */
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/**
 * Creates the metrics of requests. Their names and labels are OpenTelemetry's, in the spelling of
 * Prometheus. A request that no route serves has no `http_route`.
 * @param routes the templates of all paths
 */
export function createHttpMetrics(meter: Meter, routes: readonly string[]): RequestObserver {
  const duration = meter.histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of requests, until the connection has taken the response or has closed',
    labels: {
      http_request_method: { values: methods },
      http_route: {
        values: [...new Set(routes)],
        description: 'the template of the path, as in `openapi.json`; absent if there is no route',
      },
      http_response_status_code: {
        values: Object.keys(STATUS_CODES),
        description: 'the status; absent if the client left before there was one',
      },
    },
    buckets: requestSeconds,
  });
  const active = meter.gauge({
    name: 'http_server_active_requests',
    help: 'Requests that are being served, with open event streams',
    labels: { http_request_method: { values: methods } },
  });
  const errors = meter.counter({
    name: 'probatio_request_errors_total',
    help: 'Requests that were answered with an error',
    labels: {
      code: { values: errorCodes, description: 'the code of the error, as in `openapi.json`' },
    },
  });
  return {
    began(method) {
      active.add({ http_request_method: method }, 1);
    },
    ended({ method, route, status, errorCode, seconds }) {
      active.add({ http_request_method: method }, -1);
      const labels = {
        http_request_method: method,
        http_route: route,
        http_response_status_code: status === undefined ? undefined : String(status),
      };
      duration.observe(labels, seconds);
      if (errorCode !== undefined) errors.add({ code: errorCode });
    },
  };
}
