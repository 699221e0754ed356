// What is printed to: a terminal of some width, perhaps with colours, or a pipe, which has neither.

export interface TerminalScreen {
  /** null: no terminal, nothing is cut. */
  columns: number | null;
  isColored: boolean;
}

/** For files, pipes, and tests of texts. */
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
/** Below it nothing can be read any more. */
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
