/** The program of the page at /api/docs, which the app serves in development. */
import '../browser/no-eval.ts';
import { ClientError } from '../errors/client-error.ts';
import { createHttp, type Http } from '../http/http.ts';
import { defaultRetry } from '../http/retry.ts';
import { createSessionHttp } from '../sessions/session-http.ts';
import { expiryOf } from './access-token.ts';
import { withOwnValues, type ApiDocument } from './api-document.ts';
import { say } from './elements.ts';
import { readOwnValues } from './own-values.ts';
import { connectPanel } from './panel.ts';
import { recall, remember } from './remembered.ts';
import { startSwagger } from './swagger.ts';
import { createVisitors, type Visitor } from './visitor.ts';

const baseUrl = location.origin;
const apiDocument = await loadDocument();

let visitor: Visitor | undefined;
/** Sends requests with the access token of a login before the page was reloaded. */
let keptHttp: Http | undefined;

followColourScheme();
const swagger = await startSwagger(apiDocument, {
  accessToken: currentToken,
  onChanged: () => void refresh(),
});
try {
  start();
} catch (error) {
  say(error instanceof Error ? error.message : String(error), true);
}

function start(): void {
  const panel = connectPanel({
    visitors: createVisitors(baseUrl),
    recall,
    openOperation: swagger.open,
    onStored: refresh,
    onProven: (token) => swagger.authorize('reauth', token),
    async onLoggedIn(present) {
      visitor = present;
      keptHttp = undefined;
      remember(present);
      await currentToken();
      await refresh();
    },
    async onLogOut() {
      await visitor?.logOut();
      await keptHttp?.send({ method: 'POST', path: '/v1/auth/logout' });
      visitor = undefined;
      keptHttp = undefined;
      swagger.forgetTokens();
      swagger.setDocument(apiDocument);
    },
  });
  const token = swagger.keptToken();
  const until = token === undefined ? undefined : expiryOf(token);
  if (token === undefined || until === undefined || until <= new Date()) {
    swagger.forgetTokens();
    return;
  }
  keptHttp = withToken(token);
  void refresh().then(() => panel.showKept(recall()?.email ?? 'your account', until));
}

/** Loads the API document. The page may send requests to its own vault only. */
async function loadDocument(): Promise<ApiDocument> {
  const document = (await (await fetch('docs/openapi.json')).json()) as ApiDocument;
  return { ...document, servers: [{ url: '/', description: 'This vault' }] };
}

/** Resolves with the visitor's access token, and lets Swagger UI keep a renewed one. */
async function currentToken(): Promise<string | undefined> {
  const token = await visitor?.accessToken();
  if (token !== undefined && token !== swagger.keptToken()) swagger.authorize('bearer', token);
  return token;
}

/** Shows the visitor's own values as examples. */
async function refresh(): Promise<void> {
  const http = visitor?.http ?? keptHttp;
  if (http === undefined) return;
  try {
    const { deviceId } = visitor ?? recall() ?? {};
    swagger.setDocument(withOwnValues(apiDocument, await readOwnValues(http, deviceId)));
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), true);
  }
}

function withToken(token: string): Http {
  const http = createHttp({
    baseUrl,
    fetch: fetch.bind(globalThis),
    retry: defaultRetry,
    now: () => new Date(),
  });
  const tokens = {
    current: async () => token,
    renew: () => Promise.reject(new ClientError('session_ended')),
    end: () => undefined,
  };
  return createSessionHttp({ http, tokens });
}

/** Makes Swagger UI dark while the browser prefers a dark page. */
function followColourScheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', apply);
  apply();
}
