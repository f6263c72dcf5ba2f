/** A comment with its delimiters, at its offset in the text. */
export interface Comment {
  readonly start: number;
  readonly text: string;
}

/** A template literal without its backticks; each substitution is replaced by ` ? `. */
export interface Template {
  readonly start: number;
  readonly text: string;
}

/** A source text taken apart, so that a rule about code cannot be fooled by comments or strings. */
export interface Scan {
  /** The text at unchanged offsets, with comments and the insides of literals blanked. */
  readonly code: string;
  readonly comments: readonly Comment[];
  /** String literals by the offset of their opening quote, escapes left as written. */
  readonly strings: ReadonlyMap<number, string>;
  readonly templates: readonly Template[];
}

interface OpenTemplate {
  readonly start: number;
  text: string;
  substituted: boolean;
}

/** Takes a TypeScript source text apart. Expects code that compiles; JSX is not understood. */
export function scan(text: string): Scan {
  return new Scanner(text).run();
}

/** A slash after one of these starts a regular expression; after any other operand it divides. */
const beforeRegex = /(?:^|[^\w$)\]}'"`\s]|\b(?:return|typeof|case|in|of|await|yield|void|else))$/;

class Scanner {
  readonly #text: string;
  readonly #code: string[];
  readonly #comments: Comment[] = [];
  readonly #strings = new Map<number, string>();
  readonly #templates: Template[] = [];
  /** Holds a template for each open substitution, and undefined for each open brace of code. */
  readonly #open: (OpenTemplate | undefined)[] = [];
  readonly #token = /\/\/.*|\/\*[^]*?\*\/|'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"|[`{}/]/g;
  readonly #literal = /(?:\\[^]|\$(?!\{)|[^`\\$])*/y;
  readonly #regex = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y;

  constructor(text: string) {
    this.#text = text;
    this.#code = text.split('');
  }

  run(): Scan {
    let found = this.#token.exec(this.#text);
    while (found !== null) {
      this.#token.lastIndex = this.#take(found[0], found.index);
      found = this.#token.exec(this.#text);
    }
    return {
      code: this.#code.join(''),
      comments: this.#comments,
      strings: this.#strings,
      templates: this.#templates,
    };
  }

  /** Records a token and returns the offset at which the scan goes on. */
  #take(token: string, start: number): number {
    const end = start + token.length;
    switch (token[0]) {
      case '`':
        return this.#takeLiteral({ start, text: '', substituted: false }, end);
      case '{':
        this.#open.push(undefined);
        return end;
      case '}':
        return this.#takeClosingBrace(end);
      case '/':
        return token.length === 1 ? this.#takeSlash(start) : this.#takeComment(token, start);
      default:
        this.#strings.set(start, token.slice(1, -1));
        this.#blank(start + 1, end - 1);
        return end;
    }
  }

  #takeComment(text: string, start: number): number {
    this.#comments.push({ start, text });
    this.#blank(start, start + text.length);
    return start + text.length;
  }

  #takeClosingBrace(end: number): number {
    const template = this.#open.pop();
    if (template === undefined) return end;
    this.#blank(end - 1, end);
    return this.#takeLiteral(template, end);
  }

  #takeLiteral(template: OpenTemplate, from: number): number {
    this.#literal.lastIndex = from;
    const literal = this.#literal.exec(this.#text)?.[0] ?? '';
    const end = from + literal.length;
    template.text += literal;
    this.#blank(from, end);
    if (this.#text.startsWith('${', end)) {
      this.#blank(end, end + 2);
      template.text += ' ? ';
      template.substituted = true;
      this.#open.push(template);
      return end + 2;
    }
    this.#templates.push({ start: template.start, text: template.text });
    if (!template.substituted) this.#strings.set(template.start, template.text);
    return end + 1;
  }

  #takeSlash(start: number): number {
    const before = this.#code.slice(Math.max(0, start - 200), start).join('');
    this.#regex.lastIndex = start;
    const regex = beforeRegex.test(before.trimEnd()) ? this.#regex.exec(this.#text) : null;
    if (regex === null) return start + 1;
    this.#blank(start, this.#regex.lastIndex);
    return this.#regex.lastIndex;
  }

  #blank(start: number, end: number): void {
    for (let index = start; index < end; index += 1) {
      if (this.#code[index] !== '\n') this.#code[index] = ' ';
    }
  }
}
