import type { ApiDocument } from './api-document.ts';

/** The names of security schemes in the document whose tokens the page sets. */
type Scheme = 'bearer' | 'reauth';

interface SwaggerRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers: Record<string, string>;
}

interface SwaggerResponse {
  readonly ok: boolean;
  readonly url: string;
}

interface Immutable {
  toJS(): Readonly<Partial<Record<string, { readonly value?: unknown }>>>;
}

/** The part of Swagger UI's interface that the page uses. */
interface SwaggerSystem {
  readonly authActions: {
    authorizeWithPersistOption(authorizations: object): void;
    logoutWithPersistOption(schemes: readonly string[]): void;
  };
  readonly authSelectors: { authorized(): Immutable };
  readonly layoutActions: { show(thing: readonly string[], isShown: boolean): void };
  readonly specActions: { updateSpec(text: string): void };
}

declare const SwaggerUIBundle: (options: object) => SwaggerSystem;

interface Hooks {
  /** Resolves with the access token to send in place of the one that Swagger UI keeps. */
  readonly accessToken: () => Promise<string | undefined>;
  /** Called after an operation that changed something. */
  readonly onChanged: () => void;
}

export type Swagger = Awaited<ReturnType<typeof startSwagger>>;

/** Starts Swagger UI in the page. Resolves once it shows the document. */
export async function startSwagger(document: ApiDocument, { accessToken, onChanged }: Hooks) {
  let lastMethod = 'GET';

  async function requestInterceptor(request: SwaggerRequest): Promise<SwaggerRequest> {
    lastMethod = request.method ?? 'GET';
    if (request.headers['Authorization'] === undefined) return request;
    const token = await accessToken();
    if (token !== undefined) request.headers['Authorization'] = `Bearer ${token}`;
    return request;
  }

  function responseInterceptor(response: SwaggerResponse): SwaggerResponse {
    if (response.ok && lastMethod !== 'GET') onChanged();
    return response;
  }

  const system = await new Promise<SwaggerSystem>((resolve) => {
    const started: SwaggerSystem = SwaggerUIBundle({
      spec: document,
      dom_id: '#explorer',
      deepLinking: true,
      displayOperationId: true,
      displayRequestDuration: true,
      filter: true,
      persistAuthorization: true,
      tryItOutEnabled: true,
      defaultModelsExpandDepth: 0,
      requestInterceptor,
      responseInterceptor,
      onComplete: () => resolve(started),
    });
  });

  function authorize(scheme: Scheme, value: string): void {
    const schema =
      scheme === 'bearer'
        ? { type: 'http', scheme: 'bearer' }
        : { type: 'apiKey', in: 'header', name: 'X-Reauth-Token' };
    system.authActions.authorizeWithPersistOption({ [scheme]: { name: scheme, schema, value } });
  }

  const authorized = () => system.authSelectors.authorized().toJS();

  return {
    authorize,

    forgetTokens(): void {
      const kept = Object.keys(authorized());
      if (kept.length > 0) system.authActions.logoutWithPersistOption(kept);
    },

    /** Returns the access token that Swagger UI kept, perhaps from before a reload. */
    keptToken(): string | undefined {
      const value = authorized()['bearer']?.value;
      return typeof value === 'string' && value !== '' ? value : undefined;
    },

    /** Shows another document. Open operations stay open. */
    setDocument: (changed: ApiDocument) => system.specActions.updateSpec(JSON.stringify(changed)),

    /** Opens an operation, named as `Tag/operationId`, and scrolls to it. */
    open(name: string): void {
      const [tag = '', operation = ''] = name.split('/');
      system.layoutActions.show(['operations-tag', tag], true);
      system.layoutActions.show(['operations', tag, operation], true);
      requestAnimationFrame(() => {
        const place = globalThis.document.getElementById(`operations-${tag}-${operation}`);
        place?.scrollIntoView({ behavior: 'smooth', block: 'start' });
      });
    },
  };
}
