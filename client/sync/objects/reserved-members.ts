/**
 * Name of the member that holds the type of an object. The vault does not return types, so the type
 * is stored as an encrypted leaf, which nobody else can forge. The leaf contains null for an object
 * without a type, so that nobody can remove the type unnoticed.
 */
export const typeMember = '$type';

/** Name of the member of an object that holds the encrypted statements, by device. */
export const statementsMember = '$devices';
