import { z } from 'zod';
import { AppError } from '../errors/app-error.ts';
import type { Contribution } from '../http/routing/contribution.ts';
import type { Route } from '../http/routing/route.ts';

const form = /^([0-9]{1,9})-([0-9]{1,9})$/;

/** Parses `min-max`, the inclusive range of accepted versions of the clients' data format. */
export const SchemaVersions = z
  .string()
  .regex(form, { error: 'must be two integers as in 1-3', abort: true })
  .transform((text) => {
    const [, min, max] = form.exec(text) ?? [];
    return { min: Number(min), max: Number(max) };
  })
  .refine(({ min, max }) => min <= max, 'must not have a minimum above its maximum');

export type SchemaVersions = z.output<typeof SchemaVersions>;

const supported = {
  'X-Schema-Version-Supported': z
    .string()
    .regex(/^[0-9]{1,9}-[0-9]{1,9}$/)
    .describe('The accepted range of X-Schema-Version, as `min-max`.'),
};

const contribution: Contribution = {
  requestHeaders: {
    'X-Schema-Version': z
      .string()
      .regex(/^[0-9]{1,9}$/)
      .describe('Version of the client’s data format, an integer that the vault accepts.'),
  },
  answerHeaders: supported,
  failureHeaders: supported,
  errors: ['schema_version_unsupported'],
};

interface SchemaVersionServices {
  readonly schemaVersions: SchemaVersions;
}

/**
 * Returns the route with a guard that refuses a request unless its X-Schema-Version is one of the
 * accepted versions. Throws schema_version_unsupported.
 */
export function requireSchemaVersion<S>(route: Route<S>): Route<S & SchemaVersionServices> {
  return {
    ...route,
    contributions: [...(route.contributions ?? []), contribution],
    // Check the version before the body is read, since another version may write the body
    // differently.
    handle: async (services, raw) => {
      const { min, max } = services.schemaVersions;
      raw.reply.set('X-Schema-Version-Supported', `${min}-${max}`);
      const version = raw.request.headers['x-schema-version'];
      const isInteger = typeof version === 'string' && /^[0-9]{1,9}$/.test(version);
      if (!isInteger || Number(version) < min || Number(version) > max) {
        throw new AppError('schema_version_unsupported');
      }
      return route.handle(services, raw);
    },
  };
}
