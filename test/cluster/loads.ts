/**
 * Sends each request on a connection of its own. A request on a connection that is kept may be sent
 * at the moment at which a pod that ends closes it, and fails then.
 */
export const reconnecting: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('connection', 'close');
  return fetch(input, { ...init, headers });
};
