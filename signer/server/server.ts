import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { SpanKind } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { sendJson } from './http-json.ts';
import { createRoutes, type Handler, type RouteOptions } from './routes.ts';
import { SignerRefused, SignerUnavailable, type RefusedCode } from '../protocol/signer-error.ts';
import { readSender } from '../protocol/tracing/carried-context.ts';
import { inSpanOf } from '../protocol/tracing/spans.ts';

/**
 * Milliseconds after which an idle connection is closed; longer than any pause of a busy
 * application, so that connections are rarely reopened.
 */
const keepAliveTimeoutMs = 75_000;
const retryAfterSeconds = 1;

const refusalStatus: Record<RefusedCode, number> = {
  invalid_request: 400,
  not_permitted: 403,
  wrong_generation: 409,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
};

/** Creates the signer's HTTP server, not yet listening. */
export function createSignerServer({ log, ...options }: RouteOptions & { log: Logger }): Server {
  const routes = createRoutes(options);
  return createServer(
    { keepAliveTimeout: keepAliveTimeoutMs },
    (req, res) => void respond(req, res),
  );

  async function respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      await serveTraced(findHandler(req), req, res);
    } catch (error) {
      if (res.destroyed || res.headersSent) return;
      sendError(res, error);
    }
  }

  /** Serves a request below the span of the app that sent it; without one, it is not traced. */
  async function serveTraced(
    serve: Handler,
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<void> {
    const sender = readSender(req.headers);
    if (sender === undefined) return serve(req, res);
    const name = `${req.method} ${req.url}`;
    await inSpanOf(sender.context, name, { kind: SpanKind.SERVER }, async () => serve(req, res));
  }

  function findHandler(req: IncomingMessage): Handler {
    const path = req.url ?? '';
    const methods = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (methods === undefined) throw new SignerRefused('not_found', 'there is no such path');
    const method = req.method ?? '';
    const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (handler === undefined)
      throw new SignerRefused('method_not_allowed', 'this path does not have that method');
    return handler;
  }

  function sendError(res: ServerResponse, error: unknown): void {
    if (error instanceof SignerRefused) {
      log.warn({ code: error.code, reason: error.message }, 'refused a request');
      // The unread rest of the body would otherwise be parsed as the next request.
      if (error.code === 'payload_too_large') res.setHeader('connection', 'close');
      return sendJson(res, refusalStatus[error.code], { code: error.code, message: error.message });
    }
    if (!(error instanceof SignerUnavailable) || error.code === 'internal_error') {
      log.error({ err: error }, 'a request failed');
      return sendJson(res, 500, {
        code: 'internal_error',
        message: 'the signer failed: see its log',
      });
    }
    const { code, message } = error;
    // The log has told why the token is away.
    log[options.hsm.state === 'ready' ? 'error' : 'debug'](
      { code, reason: message },
      'a request failed',
    );
    if (code !== 'pin_incorrect') res.setHeader('retry-after', retryAfterSeconds);
    sendJson(res, 503, { code, message });
  }
}
