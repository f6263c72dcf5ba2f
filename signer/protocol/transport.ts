import { request, type Agent, type IncomingMessage } from 'node:http';
import { SpanKind } from '@opentelemetry/api';
import getRawBody from 'raw-body';
import { maxBodyBytes } from './protocol.ts';
import { SignerUnavailable } from './signer-error.ts';
import { senderHeaders } from './tracing/carried-context.ts';
import { inChildSpan } from './tracing/spans.ts';

export interface HttpRequest {
  readonly agent: Agent;
  readonly socketPath: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The body as JSON text. */
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly text: string;
}

class StaleConnection extends Error {}

/**
 * Sends one request over a Unix socket. If a kept-alive connection turns out to be dead, because
 * the signer was restarted, the request is retried once on a new one: every request of the protocol
 * may be repeated. Throws the error of the socket or of the signal, and SignerUnavailable
 * `bad_response` for a response that is longer than any response of the protocol.
 */
export async function exchange(options: HttpRequest): Promise<HttpResponse> {
  const { method, path } = options;
  const attributes = { 'http.request.method': method, 'url.path': path };
  return inChildSpan(`${method} ${path}`, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    const response = await sendAgain(options);
    span?.setAttribute('http.response.status_code', response.status);
    return response;
  });
}

async function sendAgain(options: HttpRequest): Promise<HttpResponse> {
  try {
    return await send(options, options.agent);
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    return send(options, false);
  }
}

function send(options: HttpRequest, agent: Agent | false): Promise<HttpResponse> {
  const { socketPath, method, path, body, signal } = options;
  const ofBody =
    body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const headers = { ...ofBody, ...senderHeaders() };
  return new Promise((resolve, reject) => {
    const req = request({ agent, socketPath, method, path, headers, signal });
    req.once('response', (res) => {
      readText(res).then((text) => resolve({ status: res.statusCode ?? 0, text }), reject);
    });
    req.on('error', (error: NodeJS.ErrnoException) => {
      const dead = error.code === 'ECONNRESET' || error.code === 'EPIPE';
      reject(dead && req.reusedSocket ? new StaleConnection('', { cause: error }) : error);
    });
    req.end(body);
  });
}

async function readText(res: IncomingMessage): Promise<string> {
  try {
    const length = res.headers['content-length'];
    return await getRawBody(res, { limit: maxBodyBytes, length, encoding: 'utf8' });
  } catch (cause) {
    res.destroy();
    if (cause instanceof Error && 'type' in cause && cause.type === 'entity.too.large')
      throw new SignerUnavailable('bad_response', 'the response is too long', { cause });
    throw cause;
  }
}
