import { auditRoutes } from '../audit/routes.ts';
import { dlqRoutes } from '../audit/dlq/routes.ts';
import { entryRoutes } from '../audit/entries/routes.ts';
import { accountRoutes } from '../auth/account/routes.ts';
import { credentialsRoutes } from '../auth/credentials/routes.ts';
import { loginRoutes } from '../auth/login/routes.ts';
import { reauthRoutes } from '../auth/reauth/routes.ts';
import { deviceRoutes } from '../devices/routes.ts';
import { downloadRoutes } from '../documents/downloads/routes.ts';
import { formUploadRoutes } from '../documents/form-upload/routes.ts';
import { metadataRoutes } from '../documents/metadata/routes.ts';
import { documentRoutes } from '../documents/routes.ts';
import { sealingRoutes } from '../documents/certification/routes.ts';
import { searchRoutes } from '../documents/search/routes.ts';
import { versionRoutes } from '../documents/versions/routes.ts';
import { encryptionKeyRoutes } from '../encryption-keys/routes.ts';
import { envelopeRoutes } from '../envelopes/routes.ts';
import { healthRoutes } from '../health/routes.ts';
import { createOpenApi } from '../http/openapi/openapi.ts';
import type { Route } from '../http/routing/route.ts';
import { jobOperationRoutes } from '../jobs/operation/routes.ts';
import { jobRoutes } from '../jobs/routes.ts';
import { mfaRoutes } from '../mfa/routes.ts';
import { keyRoutes } from '../signing-keys/routes.ts';
import { closureRoutes } from '../lifecycle/closure/routes.ts';
import { purgeRoutes } from '../lifecycle/purge/routes.ts';
import { maintenanceRoutes } from '../maintenance/routes.ts';
import { markRoutes } from '../restore/routes.ts';
import { replacedKeyRoutes } from '../replaced-keys/routes.ts';
import { registrationRoutes } from '../registration/routes.ts';
import { sessionRoutes } from '../sessions/routes.ts';
import { memoryRoutes } from '../memory/routes.ts';
import { senderBlockRoutes } from '../sharing/blocks/routes.ts';
import { identityRoutes } from '../identities/routes.ts';
import { sharingRoutes } from '../sharing/routes.ts';
import { feedRoutes } from '../sync/feed/routes.ts';
import { syncRoutes } from '../sync/routes.ts';
import { issuerRoutes } from '../tokens/jwks-routes.ts';
import { uploadRoutes } from '../uploads/routes.ts';
import { usageRoutes } from '../usage/routes.ts';
import { about } from '../telemetry/about.ts';
import type { Services } from './services.ts';

const routes: readonly Route<Services>[] = [
  ...healthRoutes,
  ...registrationRoutes,
  ...loginRoutes,
  ...sessionRoutes,
  ...reauthRoutes,
  ...mfaRoutes,
  ...credentialsRoutes,
  ...accountRoutes,
  ...closureRoutes,
  ...issuerRoutes,
  ...usageRoutes,
  ...uploadRoutes,
  // Before documentRoutes, which would take `shared` in `/v1/documents/shared` for an id.
  ...sharingRoutes,
  ...senderBlockRoutes,
  ...documentRoutes,
  ...sealingRoutes,
  ...downloadRoutes,
  ...formUploadRoutes,
  ...versionRoutes,
  ...metadataRoutes,
  ...searchRoutes,
  ...envelopeRoutes,
  ...deviceRoutes,
  ...identityRoutes,
  ...replacedKeyRoutes,
  ...memoryRoutes,
  // Before syncRoutes, which would take `events` in `/v1/sync/events` for an id.
  ...feedRoutes,
  ...syncRoutes,
  // Before jobRoutes, which would take `failed` in `/v1/jobs/failed` for an id.
  ...jobOperationRoutes,
  ...jobRoutes,
  ...auditRoutes,
  ...entryRoutes,
  ...dlqRoutes,
  ...keyRoutes,
  ...encryptionKeyRoutes,
  ...markRoutes,
  ...purgeRoutes,
  ...maintenanceRoutes,
];

/** Returns every route of the API, in the order of the documentation. */
export function listRoutes(): readonly Route<Services>[] {
  return routes;
}

/** Returns the templates of the paths of all routes. */
export function listTemplates(): readonly string[] {
  return routes.map(({ path }) => path);
}

/** Returns the OpenAPI 3.1 document of the whole API, with or without the aliases of paths. */
export function describeApi(options: Parameters<typeof createOpenApi>[2] = {}) {
  const info = { title: 'Probatio', version: '1.0.0', description: about.description };
  return createOpenApi(routes, info, options);
}
