/** Returns an e-mail address in the form that the vault compares: trimmed and in lower case. */
export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}
