import { readFileSync } from 'node:fs';
import { projectFile } from '../../../app/dev/files/project.ts';

/** The parts of an OpenAPI document that the checks read. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: Readonly<
    Record<'headers' | 'parameters' | 'schemas', Readonly<Record<string, object>>>
  >;
}

export interface ApiOperation {
  readonly operationId: string;
  readonly description: string;
  readonly parameters?: readonly (ApiParameter | ApiReference)[];
  readonly requestBody?: { readonly content: ApiContent };
  readonly responses: Readonly<Record<string, ApiResponse>>;
  readonly security: readonly object[];
  readonly 'x-aliases'?: readonly string[];
}

export interface ApiParameter {
  readonly in: 'path' | 'query' | 'header';
  readonly name: string;
  readonly required?: boolean;
  readonly schema: ApiSchema;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, ApiHeader | ApiReference>>;
  readonly content?: ApiContent;
  readonly 'x-error-codes'?: readonly string[];
}

export interface ApiHeader {
  readonly required?: boolean;
  readonly schema: ApiSchema;
}

interface ApiReference {
  readonly $ref: string;
}

interface ApiSchema {
  readonly type?: string;
  readonly pattern?: string;
  readonly const?: string;
}

type ApiContent = Readonly<Record<string, { readonly schema: object; readonly example?: unknown }>>;

/** An operation, and the JSON Pointer to it in the document. */
export interface FoundOperation {
  readonly operation: ApiOperation;
  readonly pointer: string;
  /** The path of the document, with `{id}` for a parameter. */
  readonly template: string;
}

/** Reads the committed openapi.json. */
export function readApiDocument(): ApiDocument {
  return JSON.parse(readFileSync(projectFile('openapi.json'), 'utf8')) as ApiDocument;
}

/**
 * Returns a function that finds the operation of a request, also by an alias of its path. It
 * returns `pathOnly` if the path has other methods only, and undefined for an unknown path.
 */
export function createFinder({ paths }: ApiDocument) {
  const templates = Object.entries(paths).flatMap(([template, item]) => {
    const aliases = Object.values(item).flatMap((operation) => operation['x-aliases'] ?? []);
    return [template, ...new Set(aliases)].map((name) => ({
      template,
      item,
      name,
      pattern: patternOf(name),
    }));
  });
  // Paths with fewer parameters come first, as they do in the router.
  const inOrder = templates.toSorted(
    (one, other) => parametersOf(one.name) - parametersOf(other.name),
  );

  return function find(method: string, path: string): FoundOperation | 'pathOnly' | undefined {
    const matches = inOrder.filter(({ pattern }) => pattern.test(path));
    for (const { template, item, name } of matches) {
      const verb = method.toLowerCase();
      const known = verb === 'head' && item.head === undefined ? 'get' : verb;
      const operation = item[known];
      const isHere = name === template || operation?.['x-aliases']?.includes(name) === true;
      if (operation === undefined || !isHere) continue;
      return { operation, template, pointer: `/paths/${escape(template)}/${known}` };
    }
    return matches.length === 0 ? undefined : 'pathOnly';
  };
}

function parametersOf(template: string): number {
  return template.split('{').length;
}

function patternOf(template: string): RegExp {
  const literal = template.replace(/[.]/g, '\\$&');
  return new RegExp(`^${literal.replace(/\{\w+\}/g, '[^/]+')}$`);
}

/** Escapes a name for a JSON Pointer in a URI fragment. */
export function escape(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}
