import Koa from 'koa';
import { SignerUnavailable } from '../signer/protocol/signer-error.ts';
import type { Config } from './config/config.ts';
import { developerAt } from './devices/developer.ts';
import { AppError } from './errors/app-error.ts';
import { cors } from './http/responses/cors.ts';
import { securityHeaders } from './http/responses/security-headers.ts';
import { explorer } from './http/explorer/explorer.ts';
import type { Access } from './http/requests/caller.ts';
import type { ProxyTrust } from './http/requests/client-address.ts';
import { requestContext } from './http/requests/request-context.ts';
import { requireWellFormed } from './http/requests/well-formed.ts';
import { createRefusalPace } from './http/routing/refusal-pace.ts';
import { admitInTurn, createRequestSlots } from './http/routing/request-slots.ts';
import { createRouter } from './http/routing/router.ts';
import { errorBoundary } from './http/server/error-boundary.ts';
import { findValidationMail } from './mail/written-mails.ts';
import { StorageError } from './storage/interface/storage-error.ts';
import type { Log } from './telemetry/log.ts';
import { describeApi, listRoutes } from './wiring/routes.ts';
import type { Services } from './wiring/services.ts';

/**
 * The `internal` listener serves the routes that accept an internal API key, and the probes. The
 * `public` listener serves all routes, but internal ones only if HTTP_INTERNAL_ROUTES is `both`.
 */
type Listener = 'public' | 'internal';

/** The parts that the applications of both listeners share. */
export interface AppParts {
  readonly config: Config;
  readonly services: Services;
  readonly trust: ProxyTrust;
  readonly log: Log;
}

/** Creates the HTTP application of one listener. It does not listen yet. */
export function createApp({ config, services, trust, log }: AppParts, listener: Listener): Koa {
  const takesKeys = listener === 'internal' || config.http.internalRoutes === 'both';
  const routes = listRoutes()
    .filter(({ isProbe }) => isProbe === true || config.roles.has('api'))
    .filter(({ access, isProbe }) =>
      listener === 'internal'
        ? isProbe === true || isInternal(access)
        : takesKeys || access !== 'internal',
    );
  const guards = {
    authenticate: (token: string) => services.authenticate(token),
    verifyReauth: services.reauthTokens.verify,
    assertAddressMay: services.limits.assertLeft,
    ...(takesKeys ? { admitInternal: services.internalKeys.admit } : {}),
    ...(config.keys.allowAnonymousInDevelopment
      ? { developer: () => developerAt(services.clock()) }
      : {}),
  };
  const slots = createRequestSlots(config.http, services.restAfter);
  const router = createRouter(routes, services, {
    guards,
    idempotencyKeys: services.idempotencyKeys,
    slots,
    countWrite: ({ userId }) => services.limits.consume('write-user', userId),
    countInternalUse: services.countInternalUse,
    sharedAddress: services.sharedAddress,
    countSentBytes: services.metrics.transfers.sent,
    heavyWork: services.heavyWork,
    jsonBodies: services.jsonBodies,
  });
  const app = new Koa();
  app.use(requestContext(trust, log, services.metrics.http));
  app.use(securityHeaders(trust));
  if (config.http.corsOrigins.length > 0) app.use(cors(config.http.corsOrigins));
  app.use(errorBoundary(log, toAppError));
  const probePaths = new Set(
    routes.filter(({ isProbe }) => isProbe === true).map(({ path }) => path),
  );
  app.use(admitInTurn(slots, createRefusalPace(config.http.refusalsPerSecond), probePaths));
  app.use(requireWellFormed);
  if (config.environment === 'development') {
    const { jsonBodies } = services;
    app.use(explorer({ openApi: describeApi(), jsonBodies, findMail: mailFinder(config.mail) }));
  }
  app.use(router.routes());
  app.use(router.allowedMethods());
  app.on('error', (error: Error) => log.warn({ err: error }, 'sending the response failed'));
  return app;
}

/** Returns a function that finds validation e-mails, if they are written as files. */
function mailFinder(mail: Config['mail']) {
  if (mail.driver !== 'file') return undefined;
  return (email: string) => findValidationMail(mail.directory, email);
}

function isInternal(access: Access): boolean {
  return access === 'internal' || (access !== 'public' && access.orInternal === true);
}

/** Translates the errors of the object store and the signer into error codes of the API. */
function toAppError(error: unknown): AppError | undefined {
  if (error instanceof StorageError) {
    const code = error.code === 'storage_full' ? error.code : 'storage_unavailable';
    return new AppError(code, { cause: error });
  }
  if (error instanceof SignerUnavailable) {
    const code = error.code === 'clock_skew' ? 'clock_skew' : 'signer_unavailable';
    return new AppError(code, { cause: error });
  }
  return undefined;
}
