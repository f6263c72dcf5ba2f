import { z } from 'zod';

/** A page of Keycloak's login: what it asks for, and where its form goes. */
interface Page {
  readonly asks: 'password' | 'code' | 'recovery code' | 'other';
  readonly text: string;
  readonly action: string;
}

/** Where the login ends: a redirection with a code, or a page that asks for more. */
export type Outcome = 'logged in' | Page['asks'];

const clientId = 'probatio-web';
const redirectUri = 'http://127.0.0.1:17081/';

/** Opens a login of Keycloak as a browser does: with cookies, and by the forms of its pages. */
export async function openLogin(issuer: string): Promise<KeycloakLogin> {
  const cookies = new Map<string, string>();

  async function visit(url: string, form?: Record<string, string>): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }

  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    state: 'any',
  });
  let page = await read(await visit(`${issuer}/protocol/openid-connect/auth?${query.toString()}`));

  async function submit(form: Record<string, string>): Promise<Outcome> {
    const response = await visit(page.action, form);
    const location = response.headers.get('location') ?? '';
    if (response.status === 302 && location.startsWith(redirectUri)) {
      return new URL(location).searchParams.has('code') ? 'logged in' : 'other';
    }
    page = await read(response.status === 302 ? await visit(location) : response);
    return page.asks;
  }

  return {
    asks: () => page.asks,
    text: () => page.text,
    password: (username, password) => submit({ username, password }),
    code: (otp) => submit({ otp }),
    recoveryCode: (recoveryCodeInput) => submit({ recoveryCodeInput }),
    /** Chooses a recovery code in place of the one-time code. */
    async chooseRecoveryCode() {
      await submit({ tryAnotherWay: 'on' });
      const [, execution = ''] =
        /name="authenticationExecution" value="([^"]+)"(?:(?!<button|<\/li>)[\s\S])*?ecovery/.exec(
          page.text,
        ) ?? [];
      return submit({ authenticationExecution: execution });
    },
  };
}

export interface KeycloakLogin {
  asks(): Page['asks'];
  text(): string;
  password(username: string, password: string): Promise<Outcome>;
  code(otp: string): Promise<Outcome>;
  recoveryCode(code: string): Promise<Outcome>;
  chooseRecoveryCode(): Promise<Outcome>;
}

async function read(response: Response): Promise<Page> {
  const text = z.string().parse(await response.text());
  const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(text) ?? [];
  const asks = text.includes('name="recoveryCodeInput"')
    ? 'recovery code'
    : text.includes('name="otp"')
      ? 'code'
      : text.includes('name="password"')
        ? 'password'
        : 'other';
  return { asks, text, action: action.replaceAll('&amp;', '&') };
}
