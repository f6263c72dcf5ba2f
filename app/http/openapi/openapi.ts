import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { StreamedAnswer } from '../responses/streamed-answer.ts';
import type { Route } from '../routing/route.ts';
import { tags } from '../routing/tags.ts';
import { addExamples } from './examples.ts';
import { simplify } from './json-schema.ts';
import { describeHead, describeOperation, toTemplate } from './operation.ts';

interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

interface OpenApiOptions {
  /** Describes the aliases as operations too, instead of only naming them. */
  readonly withAliases?: boolean;
}

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'at+jwt',
    description: 'The access token of a login, valid for 15 minutes.',
  },
  reauth: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Reauth-Token',
    description: 'The token that `reauthenticate` returned within the last five minutes.',
  },
  internalKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Internal-Api-Key',
    description: 'An internal API key, which `probatio api-key create` makes.',
  },
} as const;

/** Creates the OpenAPI 3.1 document of the routes. */
export function createOpenApi(
  routes: readonly Route[],
  info: ApiInfo,
  { withAliases = false }: OpenApiOptions = {},
) {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) addRoute(paths, route, withAliases);
  const used = new Set(routes.map(({ tag }) => tag));
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        ...info,
        contact: { name: 'The maintainers of Probatio' },
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [
        { url: '/', description: 'The vault that serves this document' },
        { url: 'http://127.0.0.1:8080', description: 'A vault that `npm start` runs' },
      ],
      tags: Object.entries(tags)
        .filter(([name]) => used.has(name as keyof typeof tags))
        .map(([name, description]) => ({ name, description })),
      paths,
      components: { securitySchemes },
    },
    { override: simplify },
  );
  return addExamples(document);
}

function addRoute(paths: ZodOpenApiPathsObject, route: Route, withAliases: boolean): void {
  const aliases = withAliases ? (route.aliases ?? []) : [];
  for (const [index, path] of [route.path, ...aliases].entries()) {
    const suffix = index === 0 ? '' : `Alias${index}`;
    const named = { ...route, operation: `${route.operation}${suffix}` };
    const template = toTemplate(path);
    paths[template] = {
      ...paths[template],
      [route.method]: describeOperation(named),
      ...(route.response === StreamedAnswer ? { head: describeHead(named) } : {}),
    };
  }
}
