import { recordExample } from './recorded-examples.ts';
import { recordFaults } from './recorded-faults.ts';

/**
 * Checks every response of a vault that a test file gets by `fetch` against openapi.json. AVA loads
 * this module before each test file (package.json).
 */

/** Headers that every response of a vault has, and of no stand-in. */
const vaultHeaders = ['x-request-id', 'cross-origin-resource-policy'];

const plainFetch = globalThis.fetch;
globalThis.fetch = async function checkedFetch(input, init) {
  const response = await plainFetch(input, init);
  if (vaultHeaders.every((name) => response.headers.has(name))) watch(response, input, init);
  return response;
};

/** Checks a response now, and its body as soon as the test reads the body. */
function watch(response: Response, input: string | URL | Request, init: RequestInit = {}): void {
  const isRequest = input instanceof Request;
  const { pathname, search } = new URL(isRequest ? input.url : input);
  const exchange = {
    method: init.method ?? (isRequest ? input.method : 'GET'),
    url: `${pathname}${search}`,
    requestHeaders: new Headers(init.headers ?? (isRequest ? input.headers : {})),
    requestText: typeof init.body === 'string' ? init.body : undefined,
    status: response.status,
    headers: response.headers,
  };
  recordFaults({ ...exchange, text: undefined });
  const read = response.text.bind(response);
  const text = async () => {
    const found = await read();
    recordFaults({ ...exchange, text: found });
    recordExample({ ...exchange, text: found });
    return found;
  };
  Object.assign(response, { text, json: async () => JSON.parse(await text()) as unknown });
}
