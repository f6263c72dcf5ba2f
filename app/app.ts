import { readFileSync } from 'node:fs';
import Koa from 'koa';
import { SignerUnavailable } from '../signer/protocol/signer-error.ts';
import { createPurgeRoutes } from './lifecycle/purge/routes.ts';
import { createClosureRoutes } from './lifecycle/closure/routes.ts';
import { createAccountRoutes } from './registration/routes.ts';
import { createDlqRoutes } from './audit/dlq/routes.ts';
import { createEntryRoutes } from './audit/entries/routes.ts';
import { createAuditRoutes } from './audit/routes.ts';
import { createCredentialsRoutes } from './auth/credentials/routes.ts';
import { createIssuerRoutes } from './tokens/issuer-routes.ts';
import { createReauthRoutes } from './auth/reauth/routes.ts';
import { createLoginRoutes } from './auth/login/routes.ts';
import { createSessionRoutes } from './sessions/routes.ts';
import type { Config } from './config/config.ts';
import { developer } from './devices/developer.ts';
import { createDeviceRoutes } from './devices/routes.ts';
import { createDownloadRoutes } from './documents/downloads/routes.ts';
import { createFormUploadRoutes } from './documents/form-upload/routes.ts';
import { createMetadataRoutes } from './documents/metadata/routes.ts';
import { createDocumentRoutes } from './documents/routes.ts';
import { createSearchRoutes } from './documents/search/routes.ts';
import { createVersionRoutes } from './documents/versions/routes.ts';
import { createEnvelopeRoutes } from './envelopes/routes.ts';
import { AppError } from './errors/app-error.ts';
import { createHealthRoutes } from './health/routes.ts';
import { createProxyTrust } from './http/requests/client-address.ts';
import type { Access } from './http/requests/caller.ts';
import { cors } from './http/answers/cors.ts';
import { errorBoundary } from './http/server/error-boundary.ts';
import { explorer } from './http/openapi/explorer.ts';
import { createOpenApi } from './http/openapi/openapi.ts';
import { requestContext } from './http/requests/request-context.ts';
import type { Route } from './http/routing/route.ts';
import { createRouter } from './http/routing/router.ts';
import { securityHeaders } from './http/answers/security-headers.ts';
import { requireWellFormed } from './http/requests/well-formed.ts';
import { createKeyRoutes } from './keys/routes.ts';
import { createMaintenanceRoutes } from './maintenance/routes.ts';
import type { Services } from './wiring/services.ts';
import { createSharingKeyRoutes } from './sharing/key-routes.ts';
import { createSharingRoutes } from './sharing/routes.ts';
import { StorageError } from './storage/interface/storage-error.ts';
import { createFeedRoutes } from './sync/feed/routes.ts';
import { createSyncRoutes } from './sync/routes.ts';
import type { Log } from './telemetry/log.ts';
import { createUploadRoutes } from './uploads/routes.ts';

const { version, description } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as { version: string; description: string };

/** `internal` serves what holders of internal API keys may call, `public` the rest. */
type Listener = 'public' | 'internal';

/** The whole HTTP application over its services; it listens nowhere. */
export function createApp(config: Config, services: Services, log: Log, listener: Listener): Koa {
  const trust = createProxyTrust(config.http.trustedProxies);
  const takesKeys = listener === 'internal' || config.http.internalRoutes === 'both';
  const routes = createRoutes(config, services).filter(({ access }) =>
    listener === 'internal' ? isInternal(access) : takesKeys || access !== 'internal',
  );
  const router = createRouter(
    routes,
    {
      authenticate: (token) => services.authenticate(token),
      verifyReauth: (token, caller) => services.reauthTokens.verify(token, caller),
      ...(takesKeys ? { admitInternal: (key) => services.internalKeys.admit(key) } : {}),
      ...(config.keys.allowAnonymousInDevelopment ? { developer } : {}),
    },
    services.idempotencyKeys,
  );
  const app = new Koa();
  app.use(requestContext(trust, log));
  app.use(securityHeaders(trust));
  if (config.http.corsOrigins.length > 0) app.use(cors(config.http.corsOrigins));
  app.use(errorBoundary(log, toAppError));
  app.use(requireWellFormed);
  if (config.environment === 'development') app.use(explorer(describeApi()));
  app.use(router.routes());
  app.use(router.allowedMethods());
  app.on('error', (error: Error) => log.warn({ err: error }, 'answering failed'));
  return app;
}

function isInternal(access: Access): boolean {
  return access === 'internal' || (access !== 'public' && access.orInternal === true);
}

/** The OpenAPI 3.1 document of the whole API. */
export function describeApi() {
  return createOpenApi(listRoutes(), { title: 'Probatio', version: '1.0.0', description });
}

/** The definitions of every route. They do not depend on services: none of the handlers may be called. */
export function listRoutes(): Route[] {
  return createRoutes(
    {
      auth: { issuer: '' },
      uploads: { sessionTtlSeconds: 0, allowedMimeTypes: [] },
      sync: { schemaVersions: { min: 0, max: 0 } },
    },
    {} as Services,
  );
}

/** Every route, in the order of the documentation. */
function createRoutes(
  config: {
    readonly auth: Pick<Config['auth'], 'issuer'>;
    readonly uploads: Config['uploads'];
    readonly sync: Pick<Config['sync'], 'schemaVersions'>;
  },
  services: Services,
): Route[] {
  return [
    ...createHealthRoutes({ ...services, about: { name: 'probatio', version, description } }),
    ...createAccountRoutes(services),
    ...createLoginRoutes(services),
    ...createSessionRoutes(services),
    ...createReauthRoutes(services),
    ...createCredentialsRoutes(services),
    ...createClosureRoutes(services),
    ...createIssuerRoutes({ ...services, issuer: config.auth.issuer }),
    ...createUploadRoutes({ ...services, ...config.uploads, sessions: services.uploadSessions }),
    ...createSharingRoutes(services),
    ...createDocumentRoutes(services),
    ...createDownloadRoutes(services),
    ...createFormUploadRoutes(services),
    ...createVersionRoutes(services),
    ...createMetadataRoutes(services),
    ...createSearchRoutes(services),
    ...createEnvelopeRoutes(services),
    ...createDeviceRoutes(services),
    ...createSharingKeyRoutes(services),
    // Before `:objectId`.
    ...createFeedRoutes(services),
    ...createSyncRoutes({ ...services, ...config.sync }),
    ...createAuditRoutes(services),
    ...createEntryRoutes(services),
    ...createDlqRoutes(services),
    ...createKeyRoutes(services),
    ...createPurgeRoutes(services),
    ...createMaintenanceRoutes(services),
  ];
}

/** What the parts below say in their own words. */
function toAppError(error: unknown): AppError | undefined {
  if (error instanceof StorageError) return new AppError('storage_unavailable', { cause: error });
  if (error instanceof SignerUnavailable)
    return new AppError('signer_unavailable', { cause: error });
  return undefined;
}
