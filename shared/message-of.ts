// The type of the texts that a line of a table stands for. Types only.

/** `lease of NAME` is `lease of ${string}`: words in capitals are values, with what stands behind them. */
export type MessageOf<Line extends string> = Line extends `${infer Word} ${infer Rest}`
  ? `${WordOf<Word>} ${MessageOf<Rest>}`
  : WordOf<Line>;

/** Numbers and signs are no words. */
type WordOf<Word extends string> =
  Word extends Lowercase<Word>
    ? Word
    : Word extends Uppercase<Word>
      ? Word extends `${string}:`
        ? `${string}:`
        : string
      : Word;
