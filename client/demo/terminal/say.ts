/** Tells the user, one line a call. */
export type Say = (line: string) => void;
