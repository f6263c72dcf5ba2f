/** The variables that name the address of a listener. */
export interface AddressVariables {
  readonly host: string;
  readonly port: string;
}

/** Thrown if a process cannot listen; the message is one line that says what to do. */
export class ListenError extends Error {
  /** The system's code, such as EADDRINUSE. */
  readonly code: string;

  constructor(error: NodeJS.ErrnoException, variables: AddressVariables) {
    const { code = 'unknown' } = error;
    const problem = problems[code]?.(variables) ?? error.message;
    super(`cannot listen (${code}): ${problem}`, { cause: error });
    this.code = code;
  }
}

const problems: Readonly<Record<string, (variables: AddressVariables) => string>> = {
  EADDRINUSE: ({ port }) => `another process has the port of ${port}: end it or choose another`,
  EADDRNOTAVAIL: ({ host }) => `${host} is no address of this machine: correct it`,
  EACCES: ({ port }) => `this user may not have the port of ${port}: choose one from 1024 on`,
  ENOTFOUND: ({ host }) => `${host} does not resolve: correct it`,
};
