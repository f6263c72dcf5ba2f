/** Prints one line for the user. */
export type Say = (line: string) => void;
