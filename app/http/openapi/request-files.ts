import type { createOpenApi } from './openapi.ts';

type ApiDocument = ReturnType<typeof createOpenApi>;

interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly example?: unknown;
}

/** An operation as the API document describes it. */
interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { example?: unknown }>> };
}

interface Placed {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

/** The headers of the ways to authenticate. */
const credentialHeaders: Readonly<Record<string, string>> = {
  bearer: 'Authorization: Bearer {{token}}',
  reauth: 'X-Reauth-Token: {{reauthToken}}',
  internalKey: 'X-Internal-Api-Key: {{internalKey}}',
};

/** Values of required headers that differ from client to client. */
const headerVariables: Readonly<Record<string, string>> = {
  'X-Device-Id': '{{deviceId}}',
  'X-Schema-Version': '1',
};

/** The lines that define variables beside the parameters of paths. */
const variables: Readonly<Record<string, string>> = {
  baseUrl: '@baseUrl = http://127.0.0.1:8080',
  token: '# An access token, which `probatio token` prints in development.\n@token = TOKEN',
  reauthToken: '# The token that `reauthenticate` returned.\n@reauthToken = TOKEN',
  internalKey: '# An internal API key; that of `npm start` is in var/secrets.\n@internalKey = KEY',
  deviceId: '# The id of the device to which the login session is bound.\n@deviceId = ID',
};

interface FormExample {
  readonly document: unknown;
}

/** The line by which the HTTP clients insert a file. */
const file = '< ./evidence.bin';
const boundary = 'probatio-boundary';

/**
 * Returns the requests of the API document's examples in the format of the HTTP clients of Visual
 * Studio Code and JetBrains: a file for each tag, by the file's name.
 */
export function describeRequests({ tags = [], paths = {} }: ApiDocument): Map<string, string> {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item ?? {})
      .filter(([method]) => method !== 'head')
      .map(([method, operation]) => ({ path, method, operation: operation as Operation })),
  );
  return new Map(
    tags.map(({ name, description = '' }) => {
      const ofTag = operations.filter(({ operation }) => operation.tags.includes(name));
      return [fileName(name), describeFile(`${name}: ${description}`, ofTag)];
    }),
  );
}

function fileName(tag: string): string {
  return `${tag.toLowerCase().replaceAll(' ', '-')}.http`;
}

function describeFile(title: string, operations: readonly Placed[]): string {
  const text = operations.map(describe).join('\n');
  const used = Object.entries({ ...pathVariables(operations), ...variables }).filter(([name]) =>
    text.includes(`{{${name}}}`),
  );
  const heading = [
    `# ${title}`,
    '# Generated from the examples of openapi.json by `npm run openapi`; a test holds it.',
    '',
    ...used.map(([, definition]) => definition),
    ...(text.includes(file)
      ? ['# Put the file evidence.bin, encrypted by your client, beside this one.']
      : []),
    '',
  ];
  return `${heading.join('\n')}\n${text}`;
}

/** Returns the lines that define the parameters of paths, each by its first example. */
function pathVariables(operations: readonly Placed[]): Record<string, string> {
  const parameters = operations.flatMap(({ operation }) => operation.parameters ?? []).toReversed();
  return Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === 'path' && parameter.example !== undefined)
      .map(({ name = '', example }) => [name, `@${name} = ${String(example)}`]),
  );
}

function describe({ path, method, operation }: Placed): string {
  const { operationId, summary, security, parameters = [] } = operation;
  const [credentials = {}] = security;
  const target = path.replace(/\{(\w+)\}/g, '{{$1}}');
  const { type, body } = describeBody(operation);
  const lines = [
    `### ${summary}`,
    `# @name ${operationId}`,
    `${method.toUpperCase()} {{baseUrl}}${target}`,
    ...Object.keys(credentials).map((name) => credentialHeaders[name] ?? ''),
    ...parameters.filter(isRequiredHeader).map(headerLine),
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ...(body === undefined ? [] : ['', body]),
  ];
  return `${lines.join('\n')}\n`;
}

function isRequiredHeader(parameter: Parameter): boolean {
  return parameter.in === 'header' && parameter.required === true;
}

function headerLine({ name = '' }: Parameter): string {
  return `${name}: ${headerVariables[name] ?? ''}`;
}

function describeBody({ requestBody }: Operation) {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (type === 'multipart/form-data') {
    return {
      type: `${type}; boundary=${boundary}`,
      body: describeForm(content?.example as FormExample),
    };
  }
  if (type === 'application/json') {
    const { example } = content ?? {};
    return example === undefined ? {} : { type, body: JSON.stringify(example, undefined, 2) };
  }
  return type === undefined ? {} : { type, body: file };
}

/** Returns a form of two parts: the document as JSON, and a file beside the file of requests. */
function describeForm({ document }: FormExample): string {
  const part = (name: string, type: string, body: string) => [
    `--${boundary}`,
    `Content-Disposition: form-data; ${name}`,
    `Content-Type: ${type}`,
    '',
    body,
  ];
  return [
    ...part('name="document"', 'application/json', JSON.stringify(document, undefined, 2)),
    ...part('name="file"; filename="evidence.bin"', 'application/octet-stream', file),
    `--${boundary}--`,
  ].join('\n');
}
