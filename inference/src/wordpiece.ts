/**
 * BERT's tokenizer from its `tokenizer.json`, to the same ids as the `tokenizers` library (tests/contract/embedder). What
 * differs are characters that Unicode has taken in since that library's tables were made, a handful of marks.
 */

import { InferenceError } from "./errors.ts";

const LONGEST_WORD = 100;
const CONTROL = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;
const SPACE = /\p{White_Space}/gu;
const MARK = /\p{Mn}/gu;
const IDEOGRAPH =
  /[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;
const WORD = /[!-/:-@[-`{-~\p{P}]|[^ !-/:-@[-`{-~\p{P}]+/gu;

interface Document {
  readonly normalizer?: {
    type?: string;
    lowercase?: boolean;
    strip_accents?: boolean | null;
    clean_text?: boolean;
    handle_chinese_chars?: boolean;
  };
  readonly pre_tokenizer?: { type?: string };
  readonly model?: {
    type?: string;
    vocab?: Record<string, number>;
    unk_token?: string;
    continuing_subword_prefix?: string;
    max_input_chars_per_word?: number;
  };
  readonly added_tokens?: { id: number; content: string; normalized?: boolean }[];
}

/** Gives the ids of a text with its first and last token, at most `limit` of them in all. */
export class WordPiece {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #added: ReadonlyMap<string, number>;
  readonly #split: RegExp | null;
  readonly #unknown: number;
  readonly #first: number;
  readonly #last: number;
  readonly #prefix: string;
  readonly #longest: number;
  readonly #lowercase: boolean;
  readonly #accents: boolean;
  readonly #ideographs: boolean;

  constructor(text: string) {
    const { normalizer, pre_tokenizer, model, added_tokens = [] } = read(text);
    const known = model?.type === "WordPiece" && normalizer?.type === "BertNormalizer";
    if (!known || pre_tokenizer?.type !== "BertPreTokenizer" || normalizer.clean_text === false)
      throw unfit("only BERT's WordPiece is read here");
    this.#ids = new Map(Object.entries(model.vocab ?? {}));
    this.#added = new Map(added_tokens.map(({ content, id }) => [content, id]));
    const contents = [...this.#added.keys()].sort((a, b) => b.length - a.length);
    this.#split = contents.length === 0 ? null : new RegExp(contents.map(escaped).join("|"), "gu");
    this.#unknown = this.#id(model.unk_token ?? "[UNK]");
    this.#first = this.#id("[CLS]");
    this.#last = this.#id("[SEP]");
    this.#prefix = model.continuing_subword_prefix ?? "##";
    this.#longest = model.max_input_chars_per_word ?? LONGEST_WORD;
    this.#lowercase = normalizer.lowercase ?? true;
    this.#accents = !(normalizer.strip_accents ?? this.#lowercase);
    this.#ideographs = normalizer.handle_chinese_chars ?? true;
  }

  /** Whether an id stands for a word of which nothing is known. */
  isUnknown(id: number): boolean {
    return id === this.#unknown;
  }

  encode(text: string, limit: number): number[] {
    const ids = [this.#first];
    const room = limit - 1;
    let at = 0;
    for (const match of this.#split === null ? [] : text.matchAll(this.#split)) {
      this.#plain(text.slice(at, match.index), ids, room);
      if (ids.length < room) ids.push(this.#added.get(match[0]) as number);
      at = match.index + match[0].length;
    }
    this.#plain(text.slice(at), ids, room);
    ids.push(this.#last);
    return ids;
  }

  #plain(text: string, ids: number[], room: number): void {
    for (const [word] of this.#normalised(text).matchAll(WORD)) {
      if (ids.length >= room) return;
      this.#word(word, ids, room);
    }
  }

  #normalised(text: string): string {
    let clean = text.replace(CONTROL, "").replace(SPACE, " ");
    if (this.#ideographs) clean = clean.replace(IDEOGRAPH, " $& ");
    if (!this.#accents) clean = clean.normalize("NFD").replace(MARK, "");
    // Character by character: of a whole word, JavaScript writes a last sigma in another way.
    return this.#lowercase ? Array.from(clean, (character) => character.toLowerCase()).join("") : clean;
  }

  /** The longest known beginning, then the longest of what follows; a word with a rest that isn't known is unknown. */
  #word(word: string, ids: number[], room: number): void {
    const characters = Array.from(word);
    if (characters.length > this.#longest) return void ids.push(this.#unknown);
    const found: number[] = [];
    for (let from = 0; from < characters.length; ) {
      let to = characters.length;
      let id: number | undefined;
      for (; to > from && id === undefined; to -= 1) {
        const piece = characters.slice(from, to).join("");
        id = this.#ids.get(from === 0 ? piece : this.#prefix + piece);
      }
      if (id === undefined) return void ids.push(this.#unknown);
      found.push(id);
      from = to + 1;
    }
    ids.push(...found.slice(0, room - ids.length));
  }

  #id(token: string): number {
    const id = this.#added.get(token) ?? this.#ids.get(token);
    if (id === undefined) throw unfit(`its vocabulary has no ${token}`);
    return id;
  }
}

function read(text: string): Document {
  try {
    return JSON.parse(text) as Document;
  } catch {
    throw unfit("it is not JSON");
  }
}

function unfit(why: string): InferenceError {
  return new InferenceError(422, "tokenizer_unfit", `the tokenizer can't be used: ${why}`);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
