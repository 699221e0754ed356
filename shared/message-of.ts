// Turns a pattern of messages, such as `lease of NAME`, into the type of the texts that match. The file has types only.

/** The texts of the pattern `Line`, whose capitals stand for values: `lease of NAME` is `lease of ${string}`. */
export type MessageOf<Line extends string> = Line extends `${infer Word} ${infer Rest}`
  ? `${WordOf<Word>} ${MessageOf<Rest>}`
  : WordOf<Line>;

/** The text that one word of a pattern stands for. Numbers and signs stand for themselves. */
type WordOf<Word extends string> =
  Word extends Lowercase<Word>
    ? Word
    : Word extends Uppercase<Word>
      ? Word extends `${string}:`
        ? `${string}:`
        : string
      : Word;
