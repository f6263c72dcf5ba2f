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

type Examples = Readonly<Record<string, OperationExamples>>;

/** Adds the recorded examples to the operations of an API document. */
export function addExamples<D extends { readonly paths?: object }>(document: D): D {
  const file = new URL('examples.json', import.meta.url);
  const examples = JSON.parse(readFileSync(file, 'utf8')) as Examples;
  for (const item of Object.values(document.paths ?? {}) as Record<string, Described>[]) {
    for (const operation of Object.values(item)) addTo(operation, examples);
  }
  return document;
}

function addTo({ operationId = '', ...operation }: Described, examples: Examples): void {
  const found = examples[operationId.replace(/Alias\d+$/, '')];
  if (found === undefined) return;
  for (const parameter of operation.parameters ?? []) {
    const value = found.parameters?.[String(Reflect.get(parameter, 'name'))];
    const isInPath = Reflect.get(parameter, 'in') === 'path';
    if (isInPath && value !== undefined) Object.assign(parameter, { example: valueOf(value) });
  }
  setExample(operation.requestBody, found.request);
  for (const [status, value] of Object.entries(found.responses ?? {})) {
    setExample(operation.responses?.[status], value);
  }
}

/** Path parameters that are digits are numbers. */
function valueOf(value: string): string | number {
  return /^[0-9]{1,9}$/.test(value) ? Number(value) : value;
}

function setExample(place: object | undefined, example: unknown): void {
  const content: unknown = place === undefined ? undefined : Reflect.get(place, 'content');
  const json = (content as Record<string, object> | undefined)?.['application/json'];
  if (json !== undefined && example !== undefined) Object.assign(json, { example });
}
