import type { IncomingHttpHeaders } from 'node:http';
import { standInGroup, standInRealm } from './realm.ts';
import { Refusal, type Answer } from './answer.ts';
import { NewUser, UserUpdate, type StandInUser, type Users } from './users.ts';

interface AdminApiOptions {
  readonly users: Users;
  readonly mayManage: (token: string) => boolean;
}

interface AdminRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const groupPath = `/admin/realms/${standInRealm}/group-by-path${standInGroup}`;
const usersPath = `/admin/realms/${standInRealm}/users`;

/** Opens the part of the admin REST API that the vault uses. */
export function openAdminApi({ users, mayManage }: AdminApiOptions) {
  function ofAll({ method, url, body }: AdminRequest): Answer {
    if (method === 'GET') {
      const found = users.findByName(url.searchParams.get('username') ?? '');
      const isShown = found !== undefined && found.isOutside !== true;
      return { status: 200, body: isShown ? [describe(found)] : [] };
    }
    if (method !== 'POST') throw new Refusal(405, 'Method Not Allowed');
    const { id } = users.create(NewUser.parse(JSON.parse(body)));
    return { status: 201, headers: { location: `${url.origin}${usersPath}/${id}` } };
  }

  function ofUser({ method, body }: AdminRequest, id: string): Answer {
    if (method === 'GET') return { status: 200, body: describe(users.load(id)) };
    if (method === 'PUT') users.update(id, UserUpdate.parse(JSON.parse(body)));
    else if (method === 'DELETE') users.remove(id);
    else throw new Refusal(405, 'Method Not Allowed');
    return { status: 204 };
  }

  function ofCredentials({ method }: AdminRequest, id: string, credentialId?: string): Answer {
    if (method === 'GET' && credentialId === undefined) {
      const { credentials, password } = users.load(id);
      const shown = credentials.map(({ secretData: _secret, ...rest }) => rest);
      const own = { id: `${id}-password`, type: 'password', createdDate: 0 };
      return { status: 200, body: [...(password === undefined ? [] : [own]), ...shown] };
    }
    if (method !== 'DELETE' || credentialId === undefined) {
      throw new Refusal(405, 'Method Not Allowed');
    }
    users.removeCredential(id, credentialId);
    return { status: 204 };
  }

  return function answer(request: AdminRequest): Answer {
    const { pathname } = request.url;
    const isGroup = pathname === groupPath;
    if (!isGroup && pathname !== usersPath && !pathname.startsWith(`${usersPath}/`)) {
      throw new Refusal(404, 'Not Found');
    }
    const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (!mayManage(token)) throw new Refusal(401, 'HTTP 401 Unauthorized');
    if (isGroup) return { status: 200, body: { path: standInGroup } };
    const [id, part, credentialId, ...more] = pathname.slice(usersPath.length + 1).split('/');
    if (id === undefined || id === '') return ofAll(request);
    if (users.load(id).isOutside === true) throw new Refusal(403, 'HTTP 403 Forbidden');
    if (part === undefined) return ofUser(request, id);
    if (part === 'credentials' && more.length === 0) {
      return ofCredentials(request, id, credentialId);
    }
    throw new Refusal(404, 'Not Found');
  };
}

function describe({ id, username }: StandInUser): object {
  return { id, username, emailVerified: false, enabled: true };
}
