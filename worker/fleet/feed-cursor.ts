// How far a feed has got, as the text that clients acknowledge and resume by.

export interface FeedCursor {
  /** Of this life of the index: another one has other numbers. */
  index: string;
  /** Of the last change that the client has. */
  seq: number;
  /** Within a snapshot: the row up to which the client has it; 0: it has none. null: it has all. */
  through: number | null;
}

export function cursorText({ index, seq, through }: FeedCursor): string {
  return through === null ? `${index}_${seq}` : `${index}_${seq}_${through}`;
}

/** Of a text that a schema has let through, or that is ours. */
export function readCursor(text: string): FeedCursor {
  const [index = "", seq, through] = text.split("_");
  return { index, seq: Number(seq), through: through === undefined ? null : Number(through) };
}
