// The line of history about a machine's silence: how it is written, and how it is read. Decides nothing.

export interface NoticedSilence {
  /** When it began, in milliseconds since 1970; it is noticed later. */
  sinceMs: number;
  /** What was decided last about its conditions. */
  said: string;
}

/** `silent since 2026-01-01T12:00:00.000Z; last said: Ready True: …` */
export function silenceText({ sinceMs, said }: NoticedSilence): string {
  return `silent since ${new Date(sinceMs).toISOString()}; last said: ${said}`;
}

/** What a line of this kind begins with that is about no silence: the machine ran, and had no answer. */
export const NO_ANSWER = "no answer ";

/** null: it is another line. The text may have been cut at its end. */
export function parseSilence(text: string): NoticedSilence | null {
  const [, since = "", said = ""] = /^silent since (\S+); last said: (.*)$/s.exec(text) ?? [];
  const sinceMs = Date.parse(since);
  return Number.isNaN(sinceMs) ? null : { sinceMs, said };
}
