import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

const Attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .transform((list) =>
    Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]])),
  );

const Link = z.object({ traceId: z.string(), spanId: z.string() });

const WireSpan = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  attributes: Attributes.default({}),
  links: z.array(Link).default([]),
});

/** The JSON of OTLP over HTTP, as far as tests look at it. */
const ExportRequest = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(WireSpan) })),
    }),
  ),
});

/** A span as the receiver got it. */
export interface ReceivedSpan extends z.output<typeof WireSpan> {
  readonly service: string;
}

/** Answers the requests of an exporter, after their spans have been taken. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const accept: Answer = (_request, response) =>
  void response.setHeader('Content-Type', 'application/json').end('{}');

/** A receiver of traces, by OTLP over HTTP. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The texts of all requests so far. */
  readonly texts: readonly string[];
}

export async function startReceiver(answer: Answer = accept): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const texts: string[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await json(request);
    texts.push(JSON.stringify(body));
    spans.push(...decode(body));
    answer(request, response);
  };
  const server = createServer((request, response) => void take(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    texts,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function decode(body: unknown): ReceivedSpan[] {
  return ExportRequest.parse(body).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({ ...span, service: String(resource.attributes['service.name']) })),
    ),
  );
}

/** Returns the names from a span up to the root of its trace; none without a span. */
export function ancestry(
  spans: readonly ReceivedSpan[],
  span: ReceivedSpan | undefined,
): readonly string[] {
  if (span === undefined) return [];
  const { parentSpanId, traceId } = span;
  const parent = spans.find((each) => each.traceId === traceId && each.spanId === parentSpanId);
  return [span.name, ...ancestry(spans, parent)];
}

/** Returns the spans of a trace. */
export function traceOf(
  spans: readonly ReceivedSpan[],
  { traceId }: Pick<ReceivedSpan, 'traceId'>,
) {
  return spans.filter((span) => span.traceId === traceId);
}
