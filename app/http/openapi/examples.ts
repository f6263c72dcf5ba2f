import { readFileSync } from 'node:fs';

/** Examples of one operation, which tests sent and got. */
export interface OperationExamples {
  /** Values of the parameters in the path by name. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly request?: unknown;
  /** Bodies of responses by status. */
  readonly responses?: Readonly<Record<string, unknown>>;
}

interface Described {
  readonly operationId?: string | undefined;
  readonly parameters?: readonly object[] | undefined;
  readonly requestBody?: object | undefined;
  readonly responses?: Readonly<Record<string, object>> | undefined;
}

interface Placed {
  readonly path: string;
  readonly operation: Described;
}

type Examples = Readonly<Record<string, OperationExamples>>;

/** Adds the recorded examples to the operations of an API document. */
export function addExamples<D extends { readonly paths?: object }>(document: D): D {
  const file = new URL('examples.json', import.meta.url);
  const examples = JSON.parse(readFileSync(file, 'utf8')) as Examples;
  const items = Object.entries(document.paths ?? {}) as [string, Record<string, Described>][];
  const operations = items.flatMap(([path, item]) =>
    Object.values(item).map((operation) => ({ path, operation })),
  );
  for (const { operation } of operations) addTo(operation, examples);
  addPathExamples(operations);
  return document;
}

/**
 * Gives a parameter in the path without an example that of another operation whose path begins
 * alike.
 */
function addPathExamples(operations: readonly Placed[]): void {
  const known = new Map<string, unknown>();
  const inPaths = operations.flatMap(({ path, operation }) =>
    (operation.parameters ?? []).filter(isInPath).map((parameter) => {
      const name = String(Reflect.get(parameter, 'name'));
      const beginning = path.slice(0, path.indexOf(`{${name}}`));
      return { beginning: `${beginning}{${name}}`, parameter };
    }),
  );
  for (const { beginning, parameter } of inPaths) {
    if ('example' in parameter) known.set(beginning, parameter.example);
  }
  for (const { beginning, parameter } of inPaths) {
    const example = known.get(beginning);
    if (!('example' in parameter) && example !== undefined) Object.assign(parameter, { example });
  }
}

function isInPath(parameter: object): boolean {
  return Reflect.get(parameter, 'in') === 'path';
}

function addTo({ operationId = '', ...operation }: Described, examples: Examples): void {
  const found = examples[operationId.replace(/Alias\d+$/, '')];
  if (found === undefined) return;
  for (const parameter of operation.parameters ?? []) {
    const value = found.parameters?.[String(Reflect.get(parameter, 'name'))];
    if (isInPath(parameter) && value !== undefined) {
      Object.assign(parameter, { example: valueOf(value) });
    }
  }
  setExample(operation.requestBody, found.request);
  setExample(operation.requestBody, formOf(examples), 'multipart/form-data');
  for (const [status, value] of Object.entries(found.responses ?? {})) {
    setExample(operation.responses?.[status], value);
  }
}

/** Path parameters that are digits are numbers. */
function valueOf(value: string): string | number {
  return /^[0-9]{1,9}$/.test(value) ? Number(value) : value;
}

/** Returns the example of a form that creates a document, which tests send in pieces. */
function formOf({ createDocument }: Examples): unknown {
  const request = createDocument?.request as { readonly storagePath: string } | undefined;
  const { storagePath: _uploaded, ...document } = request ?? { storagePath: undefined };
  return { document, file: 'the bytes of the encrypted file' };
}

function setExample(place: object | undefined, example: unknown, type = 'application/json'): void {
  const content: unknown = place === undefined ? undefined : Reflect.get(place, 'content');
  const described = (content as Record<string, object> | undefined)?.[type];
  if (described !== undefined && example !== undefined) Object.assign(described, { example });
}
