// Texts of the explanations in parts: words, and what is typed on a command line. Pure.

export interface MarkedPart {
  isCommand: boolean;
  text: string;
}

/** Commands stand between backticks. `name`: the machine's, which stands for NAME; absent: nothing does. */
export function markedParts(text: string, name?: string): MarkedPart[] {
  return text
    .split("`")
    .map((part, index) => ({
      isCommand: index % 2 === 1,
      text: name === undefined ? part : part.replaceAll(/\bNAME\b/g, () => name),
    }))
    .filter((part) => part.text !== "");
}

const PROGRAMS = ["rollcall", "node-shim", "kubectl", "pgrep", "systemctl", "timedatectl"];

/** Is it a whole command, which is worth to be copied? */
export const isTyped = ({ isCommand, text }: MarkedPart): boolean =>
  isCommand && PROGRAMS.some((program) => text.startsWith(`${program} `)) && !/ [A-Z]{3,}\b/.test(text);
