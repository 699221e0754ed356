// Describes a terminal by width and colours, and fits texts to it. A pipe has no width and no colours.
import { printable } from "../../../shared/protocol/printable.ts";

export interface TerminalScreen {
  /** The number of columns. null for a pipe, for which no text is cut. */
  columns: number | null;
  isColored: boolean;
}

export const PIPE: TerminalScreen = { columns: null, isColored: false };

interface TerminalStream {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

interface ScreenEnvironment {
  NO_COLOR?: string | undefined;
  TERM?: string | undefined;
}

const WITHOUT_A_WIDTH = 80;
/** The number of columns that a narrower terminal is treated as having. */
const LEAST_COLUMNS = 20;

export function screenOf({ isTTY, columns }: TerminalStream, environment: ScreenEnvironment): TerminalScreen {
  if (isTTY !== true) return PIPE;
  const width = columns !== undefined && columns > 0 ? columns : WITHOUT_A_WIDTH;
  return {
    columns: Math.max(width, LEAST_COLUMNS),
    isColored: !environment.NO_COLOR && environment.TERM !== "dumb",
  };
}

const SGR = { red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36, bold: 1, faint: 2 } as const;
export type Paint = keyof typeof SGR;

export function painted(text: string, paint: Paint | undefined, { isColored }: TerminalScreen): string {
  return paint === undefined || !isColored || text === "" ? text : `\u001B[${SGR[paint]}m${text}\u001B[0m`;
}

/** Matches what `painted` and the renderers write: the colours, line breaks, and the tabs of completions. */
const OWN = new RegExp(`(\u001B\\[(?:0|${Object.values(SGR).join("|")})m|[\n\t])`);

/** Returns the output of a command without other control characters, which could move a terminal's cursor. */
export function screenText(text: string, { isColored }: Pick<TerminalScreen, "isColored">): string {
  const isOwn = (part: string) => isColored || !part.startsWith("\u001B");
  return text
    .split(OWN)
    .map((part, index) => (index % 2 === 1 && isOwn(part) ? part : printable(part)))
    .join("");
}

/** Matches characters that take two columns: East Asian wide characters and emoji. */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}|[\u{20000}-\u{3FFFD}]/u;

export function widthOf(text: string): number {
  // oxlint-disable-next-line no-control-regex -- almost every text is ASCII, whose width is its length
  if (/^[\0-\x7F]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  if (/\p{M}/u.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

export function padTo(text: string, width: number): string {
  return text + " ".repeat(Math.max(width - widthOf(text), 0));
}

/** Returns the text cut to this width. A cut text ends with `…`. */
export function cutTo(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let [kept, used] = ["", 0];
  for (const character of text) {
    used += characterWidth(character);
    if (used > width - 1) break;
    kept += character;
  }
  return width < 1 ? "" : `${kept.trimEnd()}…`;
}

/** Breaks a text at spaces into lines of at most this width. A word that is longer stays whole. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
