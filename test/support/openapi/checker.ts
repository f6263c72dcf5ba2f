import { createRequire } from 'node:module';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import {
  createFinder,
  escape,
  type ApiDocument,
  type ApiHeader,
  type ApiOperation,
  type ApiParameter,
  type ApiResponse,
  type FoundOperation,
} from './document.ts';

/** A request, and the response to it. */
export interface Exchange {
  readonly method: string;
  /** The path with its query. */
  readonly url: string;
  readonly requestHeaders: Headers;
  /** The JSON text of the request; undefined if it was of another kind. */
  readonly requestText: string | undefined;
  readonly status: number;
  readonly headers: Headers;
  /** The text of the response; undefined if it is not known. */
  readonly text: string | undefined;
}

/** An example, and where it stands in an operation, such as `responses/200`. */
interface PlacedExample {
  readonly path: string;
  readonly method: string;
  readonly place: string;
  readonly example: unknown;
}

export type Checker = ReturnType<typeof createChecker>;

/** Headers that servers and proxies add to any response, and that no operation describes. */
const commonHeaders: ReadonlySet<string> = new Set([
  'cache-control',
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'cross-origin-resource-policy',
  'date',
  'keep-alive',
  'referrer-policy',
  'strict-transport-security',
  'transfer-encoding',
  'vary',
  'x-accel-buffering',
  'x-content-type-options',
]);

/** Creates the checks of exchanges against an API document. */
export function createChecker(document: ApiDocument) {
  const find = createFinder(document);
  const validate = createValidator(document);
  const resolve = <T extends object>(value: T | { readonly $ref: string }): T =>
    '$ref' in value ? (lookUp(document, value.$ref) as T) : value;

  function checkBody(text: string, pointer: string, what: string): string[] {
    if (text === '') return [`the ${what} is empty`];
    const faults = validate(pointer, JSON.parse(text));
    return faults.map((fault) => `${what}: ${fault}`);
  }

  function checkHeaders({ headers }: Exchange, response: ApiResponse): string[] {
    const described = new Map(
      Object.entries(response.headers ?? {}).map(([name, header]) => [
        name.toLowerCase(),
        resolve<ApiHeader>(header),
      ]),
    );
    const wrong = [...described].flatMap(([name, header]) => {
      const value = headers.get(name);
      if (value === null) return header.required === true ? [`${name} is missing`] : [];
      return isOf(header, value) ? [] : [`${name} is not as described`];
    });
    const undescribed = [...headers.keys()].filter(
      (name) =>
        !described.has(name) && !commonHeaders.has(name) && !name.startsWith('access-control-'),
    );
    return [...wrong, ...undescribed.map((name) => `${name} is not described`)];
  }

  function checkRequest(exchange: Exchange, { operation, pointer }: FoundOperation): string[] {
    const { requestHeaders, requestText } = exchange;
    const parameters = (operation.parameters ?? [])
      .map((each) => resolve<ApiParameter>(each))
      .filter((each) => each.in === 'header');
    const missing = parameters.filter(
      ({ required, name }) => required === true && !requestHeaders.has(name),
    );
    const isJson = operation.requestBody?.content['application/json'] !== undefined;
    const body = `${pointer}/requestBody/content/${escape('application/json')}/schema`;
    return [
      ...missing.map(({ name }) => `succeeded without ${name}, which is described as required`),
      ...(isJson && requestText !== undefined ? checkBody(requestText, body, 'request') : []),
    ];
  }

  function checkResponse(exchange: Exchange, { operation, pointer }: FoundOperation): string[] {
    const { status, text, headers } = exchange;
    const response = operation.responses[String(status)];
    if (response === undefined) return [`the status is not described${codeIn(text)}`];
    const faults = checkHeaders(exchange, response);
    const type = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    const content = response.content ?? {};
    if (status !== 304 && exchange.method !== 'HEAD') {
      const isDescribed = type === '' ? Object.keys(content).length === 0 : type in content;
      if (!isDescribed) faults.push(`the content type ${type} is not described`);
    }
    if (type !== 'application/json' || !(type in content) || text === undefined) return faults;
    if (exchange.method === 'HEAD') return faults;
    const schema = `${pointer}/responses/${status}/content/${escape(type)}/schema`;
    faults.push(...checkBody(text, schema, 'response'));
    const code = (JSON.parse(text) as { readonly code?: string }).code ?? '';
    const codes = response['x-error-codes'];
    if (codes !== undefined && !codes.includes(code)) faults.push(`${code} is not described`);
    return faults;
  }

  return {
    /** Returns how an example differs from the schema beside it. */
    checkExample: ({ path, method, place, example }: PlacedExample): string[] =>
      validate(
        `/paths/${escape(path)}/${method}/${place}/content/${escape('application/json')}/schema`,
        example,
      ),

    /** Returns what the document does not describe of an exchange; empty if it describes all. */
    check(exchange: Exchange): string[] {
      const { method, status, text } = exchange;
      const path = exchange.url.split('?')[0] ?? '';
      if (method === 'OPTIONS') return [];
      const found = find(method, path);
      if (found !== undefined && found !== 'pathOnly') {
        const isSuccess = status < 300;
        return [
          ...checkResponse(exchange, found),
          ...(isSuccess ? checkRequest(exchange, found) : []),
        ];
      }
      // Paths and methods without an operation answer with the usual error body.
      if (status < 400 || text === undefined || method === 'HEAD') return [];
      return checkBody(text, '/components/schemas/ApiError', 'response');
    },
  };
}

/** Returns a function that lists how a value differs from the schema at a JSON Pointer. */
function createValidator(document: ApiDocument) {
  // Loaded here, since most test files need none of it and each file runs in a thread of its own.
  const require = createRequire(import.meta.url);
  const { Ajv2020: Validator } = require('ajv/dist/2020.js') as { Ajv2020: typeof Ajv2020 };
  const addFormats = require('ajv-formats') as (ajv: Ajv2020) => void;
  const ajv = new Validator({ strict: false, allErrors: true, validateSchema: false, meta: false });
  addFormats(ajv);
  ajv.addSchema({ ...document, $id: 'openapi' });
  return function validate(pointer: string, value: unknown): string[] {
    const check = ajv.getSchema(`openapi#${pointer}`);
    if (check === undefined) return [`no schema at ${pointer}`];
    if (check(value) === true) return [];
    return (check.errors ?? []).map(
      ({ instancePath, message = '', params }) =>
        `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
}

function lookUp(document: ApiDocument, reference: string): object {
  const [kind = '', name = ''] = reference.replace('#/components/', '').split('/');
  const found = document.components[kind as 'headers'][name];
  if (found === undefined) throw new Error(`${reference} leads nowhere`);
  return found;
}

function isOf({ schema }: ApiHeader, value: string): boolean {
  if (schema.type === 'integer') return /^[0-9]+$/.test(value);
  if (schema.const !== undefined) return value === schema.const;
  return schema.pattern === undefined || new RegExp(schema.pattern).test(value);
}

function codeIn(text: string | undefined): string {
  const code = /"code":"(\w+)"/.exec(text ?? '')?.[1];
  return code === undefined ? '' : ` (${code})`;
}

export type { ApiOperation };
