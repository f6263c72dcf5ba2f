import { AppError } from '../errors/app-error.ts';
import type { Route } from '../http/routing/route.ts';
import type { SchemaVersions } from './schema-versions.ts';

/** The same route for clients that name a version of the range as X-Schema-Version. */
export function requireSchemaVersion(route: Route, { min, max }: SchemaVersions): Route {
  return {
    ...route,
    // Before the body is looked at, which another version may write differently.
    handle: async (raw) => {
      raw.reply.set('X-Schema-Version-Supported', `${min}-${max}`);
      const version = raw.request.headers['x-schema-version'];
      const isInteger = typeof version === 'string' && /^[0-9]{1,9}$/.test(version);
      if (!isInteger || Number(version) < min || Number(version) > max) {
        throw new AppError('schema_version_unsupported');
      }
      return route.handle(raw);
    },
  };
}
