import { randomUUID } from 'node:crypto';
import {
  createDatabase,
  databaseUrls,
  dropDatabase,
  type DatabaseUrls,
} from '../../../app/dev/postgres/database.ts';
import { testStack } from '../vault/stack.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** A test's own database behind a proxy, and the settings of a vault that uses it. */
export interface ProxiedDatabase extends AsyncDisposable {
  readonly proxy: TcpProxy;
  /** URLs of the database without the proxy. */
  readonly databases: DatabaseUrls;
  readonly ownerUrl: string;
  readonly settings: { readonly DATABASE_URL: string; readonly DATABASE_SERVICE_URL: string };
}

export async function startProxiedDatabase(): Promise<ProxiedDatabase> {
  const { postgres, templateDatabase } = testStack();
  const name = `proxied_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name, templateDatabase);
  const proxy = await startTcpProxy(`http://${postgres.host}:${postgres.port}`);
  const port = Number(new URL(proxy.url).port);
  const urls = databaseUrls({ ...postgres, host: '127.0.0.1', port }, name);
  return {
    proxy,
    databases: databaseUrls(postgres, name),
    ownerUrl: databaseUrls(postgres, name).owner,
    settings: { DATABASE_URL: urls.app, DATABASE_SERVICE_URL: urls.service },
    async [Symbol.asyncDispose]() {
      await proxy.close();
      await dropDatabase(postgres, name);
    },
  };
}
