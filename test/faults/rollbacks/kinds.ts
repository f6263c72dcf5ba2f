/** The kinds of answers that are recorded and mixed, by the method and path of their requests. */
const requests = {
  document: /^GET .*\/documents\/[0-9a-f-]{36}$/,
  versions: /^GET .*\/versions$/,
  search: /^POST .*\/search$/,
  shared: /^GET .*\/documents\/shared$/,
  content: /^GET .*\/download$/,
  masterEnvelope: /^GET .*\/master-envelope$/,
  deviceEnvelope: /^GET .*\/device-envelope\/[^/]+$/,
  identity: /^GET .*\/crypto\/keys\/sharing$/,
  records: /^GET .*\/memory\/records$/,
  proof: /^GET .*\/audit\/proof\/[^/]+$/,
  auditKeys: /^GET .*\/audit\/keys$/,
  changes: /^GET \/v1\/sync$/,
  object: /^GET \/v1\/sync\/[^/]+$/,
};

export type Kind = keyof typeof requests;

export const kinds = Object.keys(requests) as readonly Kind[];

/** Returns the kind of a request, given as its method and path. */
export function kindOf(request: string): Kind | undefined {
  return kinds.find((kind) => requests[kind].test(request));
}
