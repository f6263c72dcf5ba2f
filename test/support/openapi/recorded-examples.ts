import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { projectFile } from '../../../app/dev/files/project.ts';
import type { OperationExamples } from '../../../app/http/openapi/examples.ts';
import type { Exchange } from './checker.ts';
import { createFinder, readApiDocument } from './document.ts';

const variable = 'PROBATIO_API_EXAMPLES';
const examplesFile = projectFile('app/http/openapi/examples.json');
/** Longer texts would drown the document. */
const maxLength = 6_000;
/** Errors whose bodies have members of their own. */
const tellingErrors = /"code":"(?:document_sealed|sync_conflict|entry_unrecoverable)"|"proofId"/;
/** Proofs and keys of rare cases. */
const unusual = /"valid":false|"entryCanonical":"null"|"imported":true|COMPROMISED/;
/** Secrets that stand in requests and responses, each with a text of its form. */
const stand = 'eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiIwMTlhIn0.c2lnbmF0dXJl';
const standIns: Readonly<Record<string, string>> = {
  accessToken: stand,
  reauthToken: stand,
  refreshToken: 'Zm9yIHRoZSBuZXh0IHBhaXIgb2YgdG9rZW5z',
  token: '9b2f6d0e-4c1a-4a57-8f0e-2d6b1c7a9e35',
};

type Found = Required<Pick<OperationExamples, 'parameters'>> & {
  readonly operationId: string;
  readonly status: string;
  readonly request: unknown;
  readonly response: unknown;
};

let find: ReturnType<typeof createFinder> | undefined;

/** Returns the environment by which test files record examples in `file`. */
export function recordExamplesIn(file: string): NodeJS.ProcessEnv {
  return { [variable]: file };
}

/** Records an exchange that is fit for an example, if the run asks for examples. */
export function recordExample(exchange: Exchange): void {
  const file = process.env[variable];
  const { method, url, status, text = '', requestText = '' } = exchange;
  if (file === undefined || text.length + requestText.length > maxLength) return;
  if (status >= 400 && !tellingErrors.test(text)) return;
  find ??= createFinder(readApiDocument());
  const path = url.split('?')[0] ?? '';
  const found = find(method, path);
  if (found === undefined || found === 'pathOnly' || method === 'HEAD') return;
  const { operation, template } = found;
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const values = path.split('/').toReversed();
  const places = template.split('/').toReversed();
  const line: Found = {
    operationId: operation.operationId,
    status: String(status),
    parameters: Object.fromEntries(
      names.map((name) => [name, values[places.indexOf(`{${name}}`)] ?? '']),
    ),
    request: parse(requestText),
    response: parse(text),
  };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Adds the most telling of the recorded examples to the examples of the API document. */
export function keepExamples(file: string): void {
  const kept = JSON.parse(readFileSync(examplesFile, 'utf8')) as Record<string, OperationExamples>;
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  const found = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Found);
  for (const [operationId, all] of Map.groupBy(found, (each) => each.operationId)) {
    const responses: Record<string, unknown> = { ...kept[operationId]?.responses };
    let { request, parameters } = kept[operationId] ?? {};
    for (const [status, ofStatus] of Map.groupBy(all, (each) => each.status)) {
      const best = ofStatus.toSorted((one, other) => worth(other) - worth(one))[0];
      if (best === undefined) continue;
      const isFirst = parameters === undefined && Number(status) < 400;
      const isBetter = worthOf(best.response) > worthOf(responses[status]);
      if (!isBetter && !(isFirst && best.response === undefined)) continue;
      if (best.response !== undefined) responses[status] = mask(best.response);
      if (Number(status) < 400) {
        request = best.request === undefined ? undefined : mask(best.request);
        parameters = best.parameters;
      }
    }
    kept[operationId] = {
      ...(parameters === undefined || Object.keys(parameters).length === 0 ? {} : { parameters }),
      ...(request === undefined ? {} : { request }),
      ...(Object.keys(responses).length === 0 ? {} : { responses }),
    };
  }
  const sorted = Object.entries(kept).toSorted(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(examplesFile, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}

const worth = ({ request, response }: Found) => worthOf(request) + worthOf(response);

/**
 * Returns how much an example tells: its members that are not null, less its length. The usual case
 * tells more than a proof that is not valid, and than a key that is imported or compromised.
 */
function worthOf(value: unknown): number {
  const text = JSON.stringify(value) ?? '';
  const members = new Set(
    [...text.matchAll(/"(\w+)":(?!null|\[\]|\{\})/g)].map(([, name]) => name),
  );
  return members.size - text.length / maxLength - (unusual.test(text) ? 6 : 0);
}

/** Replaces secrets by stand-ins, and shortens lists. Lists of texts may have a fixed length. */
function mask(value: unknown): unknown {
  if (Array.isArray(value)) {
    const isTexts = value.every((item) => typeof item === 'string');
    return isTexts ? value : value.slice(0, 2).map(mask);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, standIns[name] ?? mask(member)]),
  );
}

function parse(text: string): unknown {
  return text === '' ? undefined : JSON.parse(text);
}
