import {
  ApiException,
  createConfiguration,
  ServerConfiguration,
  type ApiConstructor,
  type ApiType,
  type KubeConfig,
} from '@kubernetes/client-node';

/** How long one request to the API server may take. */
const timeoutMs = 10_000;

/** Makes a client of a part of the Kubernetes API, whose requests end in time. */
export function connect<T extends ApiType>(kubeConfig: KubeConfig, api: ApiConstructor<T>): T {
  const cluster = kubeConfig.getCurrentCluster();
  if (cluster === null) throw new Error('the configuration names no cluster');
  return new api(
    createConfiguration({
      baseServer: new ServerConfiguration(cluster.server, {}),
      authMethods: { default: kubeConfig },
      promiseMiddleware: [
        {
          async pre(context) {
            context.setSignal(AbortSignal.timeout(timeoutMs));
            return context;
          },
          post: async (context) => context,
        },
      ],
    }),
  );
}

/** Returns whether the API server refused a request with this HTTP status. */
export function isRefusal(error: unknown, status: number): boolean {
  return error instanceof ApiException && error.code === status;
}
