/** Checks values from outside: a schema gives the value back as its type says, or throws a `Fault` that names the place. */
export type Schema<T> = (value: unknown, at: string) => T;
export type Of<S> = S extends Schema<infer T> ? T : never;

/** What a value of the right type must also be; the words say what is wrong with one that isn't. */
export type Check<T> = readonly [holds: (value: T) => boolean, fault: string];

export class Fault extends Error {
  override name = "Fault";
  /** `models.chat.split.0`; empty for the value as a whole. */
  readonly path: string;

  constructor(path: string, fault: string) {
    super(fault);
    this.path = path;
  }
}

type Shape = Readonly<Record<string, Schema<unknown>>>;
type Needed<S extends Shape> = { [K in keyof S as undefined extends Of<S[K]> ? never : K]: Of<S[K]> };
type Left<S extends Shape> = { [K in keyof S as undefined extends Of<S[K]> ? K : never]?: Of<S[K]> };
type Flat<T> = { [K in keyof T]: T[K] };

function typed<T>(isType: (value: unknown) => boolean, fault: string, checks: readonly Check<T>[]): Schema<T> {
  return (value, at) => {
    if (!isType(value)) throw new Fault(at, fault);
    return checked(value as T, at, checks);
  };
}

function checked<T>(value: T, at: string, checks: readonly Check<T>[]): T {
  for (const [holds, fault] of checks) if (!holds(value)) throw new Fault(at, fault);
  return value;
}

const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

export const string = (...checks: Check<string>[]) => named("must be a text", ...checks);
/** A text whose fault has words of its own. */
export const named = (fault: string, ...checks: Check<string>[]) =>
  typed((value) => typeof value === "string", fault, checks);
export const number = (...checks: Check<number>[]) =>
  typed((value) => typeof value === "number", "must be a number", checks);
export const boolean: Schema<boolean> = typed((value) => typeof value === "boolean", "must be true or false", []);
export const anything: Schema<unknown> = (value) => value;

/** One of the values. */
export const one = <const T extends string | number | true>(
  values: readonly T[],
  fault = `must be one of ${values.join(", ")}`,
): Schema<T> => typed((value) => (values as readonly unknown[]).includes(value), fault, []);

export const least = (bound: number, fault = `must be at least ${bound}`): Check<number> => [(n) => n >= bound, fault];
export const most = (bound: number, fault = `must be at most ${bound}`): Check<number> => [(n) => n <= bound, fault];
export const above = (bound: number): Check<number> => [(n) => n > bound, `must be more than ${bound}`];
export const below = (bound: number): Check<number> => [(n) => n < bound, `must be less than ${bound}`];
export const whole: Check<number> = [Number.isInteger, "must be a whole number"];

export const filled: Check<{ readonly length: number }> = [({ length }) => length > 0, "is empty"];
export const longest = (bound: number, fault: string): Check<{ readonly length: number }> => [
  ({ length }) => length <= bound,
  fault,
];
export const like = (pattern: RegExp, fault: string): Check<string> => [(text) => pattern.test(text), fault];

export const count = number(whole, least(0));
export const positive = number(whole, least(1));
export const share = number(least(0), most(1));
export const text = string(filled);
/** Without the white space around it. */
export const trimmed = (...checks: Check<string>[]): Schema<string> => {
  const any = string();
  return (value, at) => checked(any(value, at).trim(), at, checks);
};

/** Left out, it is what `instead` comes to. */
export function optional<T>(schema: Schema<T>, instead: unknown): Schema<T> {
  return (value, at) => schema(value === undefined ? instead : value, at);
}

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return (value, at) => (value === null ? null : schema(value, at));
}

/** Null, also when it is left out. */
export const orNull = <T>(schema: Schema<T>): Schema<T | null> => optional(nullable(schema), null);

/** May be left out. */
export function maybe<T>(schema: Schema<T>): Schema<T | undefined> {
  return (value, at) => (value === undefined ? undefined : schema(value, at));
}

/** May be left out, or null. */
export const nullish = <T>(schema: Schema<T>): Schema<T | null | undefined> => maybe(nullable(schema));

export function list<T>(schema: Schema<T>, ...checks: Check<T[]>[]): Schema<T[]> {
  const array = typed<unknown[]>(Array.isArray, "must be a list", []);
  return (value, at) =>
    checked(
      array(value, at).map((item, index) => schema(item, `${at}.${index}`)),
      at,
      checks,
    );
}

export function pair<A, B>(first: Schema<A>, second: Schema<B>): Schema<[A, B]> {
  const array = list(anything);
  return (value, at) => {
    const items = array(value, at);
    return [first(items[0], `${at}.0`), second(items[1], `${at}.1`)];
  };
}

export function record<T>(key: Schema<string>, schema: Schema<T>): Schema<Record<string, T>> {
  return (value, at) => {
    if (!isObject(value)) throw new Fault(at, "must be an object");
    const entries = Object.entries(value as object);
    return Object.fromEntries(
      entries.map(([name, item]) => [key(name, under(at, name)), schema(item, under(at, name))]),
    );
  };
}

/** Fields beside the named ones are refused. */
export const strict = <S extends Shape>(shape: S) => object(shape, true);

/** Fields beside the named ones are passed over. */
export function object<S extends Shape>(shape: S, isStrict = false): Schema<Flat<Needed<S> & Left<S>>> {
  return (value, at) => {
    if (!isObject(value)) throw new Fault(at, value === undefined ? "is missing" : "must be an object");
    const given = value as Record<string, unknown>;
    const read: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries(shape)) {
      const item = Object.hasOwn(given, name) ? given[name] : undefined;
      const known = item === undefined ? absent(schema, under(at, name)) : schema(item, under(at, name));
      if (known !== undefined) read[name] = known;
    }
    const foreign = isStrict ? Object.keys(given).find((name) => !Object.hasOwn(shape, name)) : undefined;
    if (foreign !== undefined) throw new Fault(under(at, foreign), "is not known here");
    return read as Flat<Needed<S> & Left<S>>;
  };
}

/** What a field comes to that was left out. */
function absent(schema: Schema<unknown>, at: string): unknown {
  try {
    return schema(undefined, at);
  } catch (fault) {
    throw fault instanceof Fault && fault.path === at ? new Fault(at, "is missing") : fault;
  }
}

const under = (at: string, name: string) => (at === "" ? name : `${at}.${name}`);
