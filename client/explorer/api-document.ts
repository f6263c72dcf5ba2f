/** The parts of an OpenAPI document that the page changes. */
export interface ApiDocument {
  readonly servers?: readonly object[];
  readonly paths: Readonly<Record<string, PathItem>>;
}

type PathItem = Readonly<Record<string, Operation>>;

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: { readonly 'application/json'?: JsonBody };
  };
}

interface JsonBody {
  readonly schema?: { readonly $ref?: string };
}

interface Parameter {
  readonly name?: string;
  readonly in?: string;
}

/** Values of the visitor's own that replace recorded examples. */
export interface OwnValues {
  readonly documentId?: string | undefined;
  readonly entryId?: string | undefined;
  readonly proof?: unknown;
  readonly deviceId?: string | undefined;
  readonly object?: OwnObject | undefined;
}

interface OwnObject {
  readonly objectId: string;
  readonly version: number;
}

/** Paths whose `id` is of a kind, by their beginning. The first match counts. */
const idKinds: readonly (readonly [string, keyof OwnValues])[] = [
  ['/v1/documents/shared/', 'object'],
  ['/v1/documents/{id}', 'documentId'],
  ['/v1/audit/proof/{id}', 'entryId'],
];

/** The optional body of acts that their author may sign, which Swagger UI cannot. */
const authorStatement = '#/components/schemas/AuthorStatement';

/**
 * Returns a copy of the document with the visitor's own values as examples, and without bodies that
 * only the visitor's keys can sign.
 */
export function withOwnValues<D extends ApiDocument>(document: D, own: OwnValues): D {
  const copy = structuredClone(document);
  for (const [path, item] of Object.entries(copy.paths)) {
    for (const operation of Object.values(item)) fillIn(path, operation, own);
  }
  return copy;
}

function fillIn(path: string, operation: Operation, own: OwnValues): void {
  for (const parameter of operation.parameters ?? []) {
    const value = parameterOf(path, parameter, own);
    if (value !== undefined) Object.assign(parameter, { example: value });
  }
  const json = operation.requestBody?.content['application/json'];
  const isStatement = json?.schema?.$ref === authorStatement;
  if (isStatement) Object.assign(operation, { requestBody: undefined });
  const body = bodyOf(operation.operationId, own);
  if (json !== undefined && body !== undefined) Object.assign(json, { example: body });
}

function parameterOf(path: string, { name, in: place }: Parameter, own: OwnValues): unknown {
  if (place === 'header' && name === 'X-Device-Id') return own.deviceId;
  if (place === 'header' && name === 'X-Schema-Version') return 1;
  if (place !== 'path') return undefined;
  if (name === 'deviceId') return own.deviceId;
  if (name === 'objectId') return own.object?.objectId;
  if (name !== 'id') return undefined;
  const kind = idKinds.find(([beginning]) => path.startsWith(beginning))?.[1];
  return kind === undefined ? undefined : own[kind];
}

function bodyOf(operation: string, { entryId, proof, object }: OwnValues): unknown {
  if (operation === 'verifyEntries' && entryId !== undefined) return { ids: [entryId] };
  if (operation === 'verifyProof' && proof !== undefined) return { proof };
  if (operation === 'createObject') {
    return { objectId: crypto.randomUUID(), data: { title: 'Lease', rent: 900 } };
  }
  if (operation === 'writeObject' && object !== undefined) {
    const { objectId, version } = object;
    return { objectId, version: version + 1, baseVersion: version, delta: { rent: 950 } };
  }
  return undefined;
}
