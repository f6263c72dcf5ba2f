import type { IncomingMessage, ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import { Registry, type Metric, type OpenMetricsContentType } from 'prom-client';

/** The media types of the two formats. Scrapers differ in the parameters that they add. */
const openMetrics = 'application/openmetrics-text';
const plain: ReadonlySet<string> = new Set(['text/plain', 'text/*', '*/*']);

/**
 * Answers a scrape with the metrics of a registry: as OpenMetrics, with exemplars, if the scraper
 * prefers it, and otherwise in the text format of Prometheus.
 */
export async function answerScrape(
  registry: Registry,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const types = new Negotiator(request).mediaTypes();
  const preferred = types.find((type) => type === openMetrics || plain.has(type));
  const page = preferred === openMetrics ? viewAsOpenMetrics(registry) : registry;
  const text = await page.metrics();
  response.setHeader('Content-Type', page.contentType).setHeader('Vary', 'Accept').end(text);
}

/**
 * Returns a registry that writes the metrics of another as OpenMetrics. It has views of them, since
 * prom-client renames the counters that it writes so.
 */
function viewAsOpenMetrics(registry: Registry) {
  const page = new Registry<OpenMetricsContentType>();
  page.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of registry.getMetricsAsArray()) {
    page.registerMetric(Object.create(metric) as Metric);
  }
  return page;
}
