import type { Access } from '../requests/caller.ts';
import type { Route } from '../routing/route.ts';

const heading = `# Who may call what

Generated from the routes by \`npm run openapi\`; a test fails when it drifts. A token needs one of
the listed roles, if any are listed, and all of the listed scopes. \`reauth\` is a fresh
\`X-Reauth-Token\` in addition to the token. \`fresh proof\` is that too, or a login within five
minutes (of users of other issuers: their \`auth_time\`). \`internal key\` is an
\`X-Internal-Api-Key\` with the admin right. \`recovery token\` is the token of a login with the
recovery words, which needs no \`X-Reauth-Token\`.

| Method | Path | Caller | Roles (one of) | Scopes (all of) |
| --- | --- | --- | --- | --- |
`;

/** Returns the Markdown table of all routes and the rights that they require. */
export function describeAccess(routes: readonly Route[]): string {
  const rows = routes.flatMap(({ method, path, aliases = [], access }) =>
    [path, ...aliases].map((name) => row([method.toUpperCase(), `\`${name}\``, ...cells(access)])),
  );
  return `${heading}${rows.join('\n')}\n`;
}

function cells(access: Access): [string, string, string] {
  if (access === 'public') return ['anyone', '', ''];
  if (access === 'internal') return ['internal key', '', ''];
  const caller = [
    `token${access.reauth === true ? ' and reauth' : proofCell(access.freshProof)}`,
    ...(access.orRecovery === true ? ['recovery token'] : []),
    ...(access.orInternal === true ? ['internal key'] : []),
  ];
  return [caller.join(', or '), list(access.roles), list(access.scopes)];
}

function proofCell(freshProof: string | undefined): string {
  if (freshProof === undefined) return '';
  return freshProof === 'always' ? ' and fresh proof' : ` and, ${freshProof}, fresh proof`;
}

function list(names: readonly string[] = []): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function row(columns: readonly string[]): string {
  return `| ${columns.join(' | ')} |`;
}
