import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../../errors/app-error.ts';

/** A request and its response. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** The reason of every end. One error serves all, since each request has an end. */
const clientGone = new AppError('client_gone');

const endings = new WeakMap<ServerResponse, AbortSignal>();

/**
 * Returns the signal that aborts, with client_gone, once a response has been sent or its connection
 * has closed.
 */
export function endOf({ req, res }: Exchange): AbortSignal {
  const known = endings.get(res);
  if (known !== undefined) return known;
  const over = new AbortController();
  const end = () => over.abort(clientGone);
  res.once('close', end);
  if (req.socket.destroyed) end();
  endings.set(res, over.signal);
  return over.signal;
}
