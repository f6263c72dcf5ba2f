import { pathOf } from './recording-fetch.ts';

type Loss = 'request' | 'answer';

export interface BreakingLine {
  readonly fetch: typeof globalThis.fetch;
  /**
   * Requests sent since `mend` or since the last break was set, such as `PUT /v1/auth/credentials`.
   */
  readonly sent: readonly string[];
  /** Returns every URL, header and body that was ever sent, as one text. */
  everythingSent(): string;
  /** Loses the nth request from now on (counted from 1), or its response. */
  breakAt(nth: number, loss: Loss): void;
  /** Loses the first response to each different request that matches the pattern, from now on. */
  loseFirstAnswers(pattern: RegExp): void;
  /** Loses every response to a request that matches the pattern, from now on. */
  loseAnswers(pattern: RegExp): void;
  /** Stops losing requests and responses. */
  mend(): void;
}

/** Creates a fetch to the vault that loses requests and responses as a test decides. */
export function createBreakingLine(): BreakingLine {
  const sent: string[] = [];
  const everything: string[] = [];
  let lossOf: (what: string) => Loss | undefined = () => undefined;

  function loseBy(rule: typeof lossOf): void {
    sent.length = 0;
    lossOf = rule;
  }

  return {
    sent,
    everythingSent: () => everything.join('\n'),
    mend: () => loseBy(() => undefined),
    breakAt: (nth, loss) => loseBy(() => (sent.length === nth ? loss : undefined)),
    loseFirstAnswers(pattern) {
      loseBy((what) => {
        const isFirst = sent.indexOf(what) === sent.length - 1;
        return isFirst && pattern.test(what) ? 'answer' : undefined;
      });
    },
    loseAnswers: (pattern) => loseBy((what) => (pattern.test(what) ? 'answer' : undefined)),
    async fetch(input, init) {
      const what = `${init?.method ?? 'GET'} ${pathOf(input)}`;
      sent.push(what);
      const url = input instanceof Request ? input.url : String(input);
      const headers = [...new Headers(init?.headers)].join(' ');
      const body = typeof init?.body === 'string' ? init.body : '';
      everything.push(`${url} ${headers} ${body}`);
      const loss = lossOf(what);
      if (loss === 'request') throw new TypeError('the request was lost');
      const response = await fetch(input, init);
      if (loss === undefined) return response;
      await response.arrayBuffer();
      throw new TypeError('the response was lost');
    },
  };
}
