/**
 * The part of Cloudflare's rule language that the local stage can enforce: comparisons of a request's host, path, query,
 * method and URI, joined by and / or / not. Anything else is refused by `parse`, and the caller says so aloud.
 */

export type Expression =
  | { readonly op: "and" | "or"; readonly left: Expression; readonly right: Expression }
  | { readonly op: "not"; readonly of: Expression }
  | { readonly op: "true" }
  | {
      readonly op: "eq" | "contains" | "starts_with" | "ends_with";
      readonly field: Field;
      readonly lower: boolean;
      readonly text: string;
    }
  | { readonly op: "in"; readonly field: Field; readonly lower: boolean; readonly texts: readonly string[] };

const FIELDS = [
  "http.host",
  "http.request.uri.path",
  "http.request.uri.query",
  "http.request.uri",
  "http.request.method",
  "http.request.full_uri",
] as const;
export type Field = (typeof FIELDS)[number];

export interface Facts {
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly method: string;
  readonly url: string;
}

const TOKEN = /\s*(?:([A-Za-z_][\w.]*)|"((?:[^"\\]|\\.)*)"|(==|!=|&&|\|\||[(){},!]))/y;

interface Token {
  readonly kind: "word" | "text" | "sign";
  readonly value: string;
}

function tokens(source: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  const end = source.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(source);
    if (match === null)
      throw new SyntaxError(`cannot read the expression at ${JSON.stringify(source.slice(at, at + 20))}`);
    const [, word, text, sign] = match;
    if (text !== undefined) found.push({ kind: "text", value: text.replace(/\\(.)/g, "$1") });
    else found.push(word !== undefined ? { kind: "word", value: word } : { kind: "sign", value: sign ?? "" });
  }
  return found;
}

/** Throws SyntaxError for what is outside the part that is enforced. */
export function parse(source: string): Expression {
  const parser = new Parser(tokens(source));
  return parser.all();
}

class Parser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(list: Token[]) {
    this.#tokens = list;
  }

  all(): Expression {
    const expression = this.#or();
    const rest = this.#tokens[this.#at];
    if (rest !== undefined) throw new SyntaxError(`unexpected ${rest.value}`);
    return expression;
  }

  #take(...values: string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined || token.kind === "text" || !values.includes(token.value)) return undefined;
    this.#at += 1;
    return token.value;
  }

  #need(value: string): void {
    if (this.#take(value) === undefined)
      throw new SyntaxError(`expected ${value}, got ${this.#tokens[this.#at]?.value ?? "the end"}`);
  }

  #text(): string {
    const token = this.#tokens[this.#at];
    if (token?.kind !== "text") throw new SyntaxError(`expected a string, got ${token?.value ?? "the end"}`);
    this.#at += 1;
    return token.value;
  }

  #or(): Expression {
    let left = this.#and();
    while (this.#take("or", "||")) left = { op: "or", left, right: this.#and() };
    return left;
  }

  #and(): Expression {
    let left = this.#unary();
    while (this.#take("and", "&&")) left = { op: "and", left, right: this.#unary() };
    return left;
  }

  #unary(): Expression {
    if (this.#take("not", "!")) return { op: "not", of: this.#unary() };
    if (this.#take("(")) {
      const inner = this.#or();
      this.#need(")");
      return inner;
    }
    if (this.#take("true")) return { op: "true" };
    const call = this.#take("starts_with", "ends_with");
    return call === undefined ? this.#comparison() : this.#call(call as "starts_with" | "ends_with");
  }

  #call(op: "starts_with" | "ends_with"): Expression {
    this.#need("(");
    const operand = this.#operand();
    this.#need(",");
    const text = this.#text();
    this.#need(")");
    return { op, ...operand, text };
  }

  #operand(): { field: Field; lower: boolean } {
    if (this.#take("lower") === undefined) return { field: this.#field(), lower: false };
    this.#need("(");
    const field = this.#field();
    this.#need(")");
    return { field, lower: true };
  }

  #field(): Field {
    const name = this.#take(...FIELDS);
    if (name === undefined)
      throw new SyntaxError(`field ${this.#tokens[this.#at]?.value ?? "(none)"} is not supported on the local stage`);
    return name as Field;
  }

  #comparison(): Expression {
    const operand = this.#operand();
    const sign = this.#take("eq", "==", "ne", "!=", "contains", "in");
    if (sign === undefined)
      throw new SyntaxError(
        `operator ${this.#tokens[this.#at]?.value ?? "(none)"} is not supported on the local stage`,
      );
    if (sign === "in") return { op: "in", ...operand, texts: this.#set() };
    const text = this.#text();
    if (sign === "contains") return { op: "contains", ...operand, text };
    const equal: Expression = { op: "eq", ...operand, text };
    return sign === "ne" || sign === "!=" ? { op: "not", of: equal } : equal;
  }

  #set(): string[] {
    this.#need("{");
    const texts: string[] = [];
    while (this.#take("}") === undefined) texts.push(this.#text());
    return texts;
  }
}

function value(field: Field, facts: Facts): string {
  switch (field) {
    case "http.host":
      return facts.host;
    case "http.request.uri.path":
      return facts.path;
    case "http.request.uri.query":
      return facts.query;
    case "http.request.uri":
      return facts.query ? `${facts.path}?${facts.query}` : facts.path;
    case "http.request.method":
      return facts.method;
    case "http.request.full_uri":
      return facts.url;
  }
}

export function matches(expression: Expression, facts: Facts): boolean {
  switch (expression.op) {
    case "and":
      return matches(expression.left, facts) && matches(expression.right, facts);
    case "or":
      return matches(expression.left, facts) || matches(expression.right, facts);
    case "not":
      return !matches(expression.of, facts);
    case "true":
      return true;
    default:
      return compare(expression, facts);
  }
}

function compare(test: Extract<Expression, { field: Field }>, facts: Facts): boolean {
  const raw = value(test.field, facts);
  const text = test.lower ? raw.toLowerCase() : raw;
  switch (test.op) {
    case "eq":
      return text === test.text;
    case "contains":
      return text.includes(test.text);
    case "starts_with":
      return text.startsWith(test.text);
    case "ends_with":
      return text.endsWith(test.text);
    case "in":
      return test.texts.includes(text);
  }
}
