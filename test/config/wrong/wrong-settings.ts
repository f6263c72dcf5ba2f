/** A start with wrong settings. */
export interface WrongSettings {
  readonly what: string;
  /** Changes of an environment that is right; an empty value counts as not set. */
  readonly env: Readonly<Record<string, string>>;
  /** All problems that are reported, in any order. */
  readonly problems: readonly string[];
}
