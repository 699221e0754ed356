// Reads the answer to `diagnosis`: the faults that the machine found, each with what to do, and the other lines.

export interface DiagnosisFinding {
  level: "fail" | "warn";
  /** The name of the check, such as `disk`. */
  check: string;
  message: string;
  todo: FindingTodo | null;
}

/** What shows more: a question, or a text. */
export type FindingTodo =
  { kind: "ask"; name: string; parameters: Record<string, string> } | { kind: "text"; text: string };

export interface Diagnosis {
  findings: DiagnosisFinding[];
  /** The lines about checks that found nothing or could not be made, and that there are further lines. */
  others: string[];
}

/** The most lines and characters that become elements. A machine has fewer; another program may have its key. */
const MOST_LINES = 500;
const MOST_LENGTH = 64 * 1024;

const FINDING = /^(fail|warn) {2}(\S(?:.*?\S)?) {2,}(.*)$/;
const CUT = "… The answer has more lines than a diagnosis. Download has them.";
const TODO = /^ +→ (.*)$/;

export function diagnosisIn(text: string): Diagnosis {
  const findings: DiagnosisFinding[] = [];
  const others: string[] = [];
  const lines = text.slice(0, MOST_LENGTH).split("\n");
  for (const line of lines.slice(0, MOST_LINES)) {
    const [, level, check = "", message = ""] = FINDING.exec(line) ?? [];
    const todo = TODO.exec(line)?.[1];
    const last = findings.at(-1);
    if (level === "fail" || level === "warn") findings.push({ level, check, message, todo: null });
    else if (todo !== undefined && last?.todo === null) last.todo = todoOf(todo);
    else if (line !== "") others.push(line);
  }
  if (text.length > MOST_LENGTH || lines.length > MOST_LINES) others.push(CUT);
  return { findings, others };
}

/** A question in a remedy, as the machine writes it: a value has no space. */
const QUESTION = /^ask ([\w:.-]+)((?: [\w-]+=\S+)*)$/;

function todoOf(text: string): FindingTodo {
  const [, name, pairs = ""] = QUESTION.exec(text) ?? [];
  if (name === undefined) return { kind: "text", text };
  const parameters = pairs
    .split(" ")
    .filter(Boolean)
    .map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
  return { kind: "ask", name, parameters: Object.fromEntries(parameters) as Record<string, string> };
}
