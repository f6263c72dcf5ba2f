import type { Access, TokenAccess } from '../requests/caller.ts';

/** Returns the sentence that says who may call a route. */
export function accessNote(access: Access): string {
  if (access === 'public') return 'Anyone may call it, without a token.';
  if (access === 'internal') {
    return 'Needs an internal API key with the admin right in X-Internal-Api-Key.';
  }
  return [tokenNote(access), proofNote(access), otherNote(access)].join('');
}

function tokenNote({ roles = [], scopes = [] }: TokenAccess): string {
  const rights = [
    ...(roles.length === 0 ? [] : [`one of the roles ${list(roles)}`]),
    ...(scopes.length === 0 ? [] : [`the scope${scopes.length > 1 ? 's' : ''} ${list(scopes)}`]),
  ];
  return rights.length === 0
    ? 'Needs an access token.'
    : `Needs an access token with ${rights.join(' and ')}.`;
}

function proofNote({ reauth, freshProof }: TokenAccess): string {
  if (reauth === true) return ' Needs a fresh X-Reauth-Token.';
  if (freshProof === undefined) return '';
  const when = freshProof === 'always' ? '' : ` ${freshProof}`;
  return ` Needs a fresh X-Reauth-Token${when}, or a login within five minutes.`;
}

function otherNote({ orRecovery, orInternal }: TokenAccess): string {
  const recovery = ' Takes the token of a recovery login too, without X-Reauth-Token.';
  const internal = ' Takes an internal API key in X-Internal-Api-Key instead of a token.';
  return `${orRecovery === true ? recovery : ''}${orInternal === true ? internal : ''}`;
}

function list(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}
