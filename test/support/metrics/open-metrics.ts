import type { Registry } from 'prom-client';
import { listenForScrapes } from '../../../signer/protocol/metrics/metrics-listener.ts';

/** The header with which Prometheus 2 prefers OpenMetrics. */
export const acceptOfPrometheus =
  'application/openmetrics-text;version=1.0.0,' +
  'application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

/** Scrapes a registry over HTTP, as Prometheus does or with another header `Accept`. */
export async function scrapePage(registry: Registry, accept = acceptOfPrometheus) {
  const host = '127.0.0.1';
  const listener = await listenForScrapes({ host, port: 0, registry, hasLiveness: false });
  try {
    const url = `http://${host}:${listener.port}/metrics`;
    const response = await fetch(url, { headers: { accept } });
    return { type: response.headers.get('content-type') ?? '', text: await response.text() };
  } finally {
    await listener.close();
  }
}
