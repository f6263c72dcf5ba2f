import { pathOf } from './recording-fetch.ts';

type Loss = 'request' | 'answer';

export interface BreakingLine {
  readonly fetch: typeof globalThis.fetch;
  /** What was sent since `mend` or the last break was set, such as `PUT /v1/auth/credentials`. */
  readonly sent: readonly string[];
  /** Every address, header and body that ever left, as one text. */
  everythingSent(): string;
  /** From now on loses the request that is sent as the nth, counted from 1, or its answer. */
  breakAt(nth: number, loss: Loss): void;
  /** From now on loses the first answer to each different request that the pattern names. */
  loseFirstAnswers(pattern: RegExp): void;
  /** From now on loses nothing. */
  mend(): void;
}

/** A way to the vault that breaks where a test says so. */
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
    async fetch(input, init) {
      const what = `${init?.method ?? 'GET'} ${pathOf(input)}`;
      sent.push(what);
      const url = input instanceof Request ? input.url : String(input);
      const headers = [...new Headers(init?.headers)].join(' ');
      const body = typeof init?.body === 'string' ? init.body : '';
      everything.push(`${url} ${headers} ${body}`);
      const loss = lossOf(what);
      if (loss === 'request') throw new TypeError('the request is lost');
      const response = await fetch(input, init);
      if (loss === undefined) return response;
      await response.arrayBuffer();
      throw new TypeError('the answer is lost');
    },
  };
}
