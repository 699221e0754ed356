// Answers questions about systemd's journal by journalctl, as JSON: the text for people depends on version and time zone.
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { lineCleaner } from "./redaction.ts";
import { type Asking, newestLines, type Source } from "./source.ts";
import { timeText } from "./table.ts";

const FIELDS = "MESSAGE,SYSLOG_IDENTIFIER,_COMM,_PID,_BOOT_ID,MESSAGE_ID";
const JOURNAL = ["--no-pager", "--quiet", "--output=json", `--output-fields=${FIELDS}`];

type Message = string | number[] | null;

/**
 * The fields of an entry that are used. journalctl writes bytes that are not UTF-8 as a list, long fields as null, and a
 * field that an entry has several times as a list of its values.
 */
export interface JournalEntry {
  __REALTIME_TIMESTAMP?: string;
  MESSAGE?: Message | Message[];
  SYSLOG_IDENTIFIER?: string;
  _COMM?: string;
  _PID?: string;
  _BOOT_ID?: string;
  MESSAGE_ID?: string;
}

/** Yields the newest lines of a unit's journal, or of the kernel's. */
export const logs: Source<ParametersOf<"logs">> = (parameters, asking) => {
  const args = ["--reverse", ...placeOf(parameters, asking)];
  return newestLines(newestFirst(journalEntries(args, asking)), parameters, asking);
};

/** Yields the newest entries of a journal, and further ones while they come. Searches in clean lines, as newestLines does. */
export const follow: Source<ParametersOf<"follow">> = async function* (parameters, asking) {
  const { lines, grep = "" } = parameters;
  const clean = lineCleaner("BEGIN");
  const args = ["--follow", `--lines=${lines}`, ...placeOf(parameters, asking)];
  let scanned = 0;
  for await (const entry of journalEntries(args, asking))
    for (const raw of entryLines(entry)) {
      scanned += raw.length;
      if (scanned > QUESTION_LIMITS.scannedBytes) {
        asking.cut();
        return;
      }
      const line = clean(raw);
      if (line.includes(grep)) yield line;
    }
};

/** Returns the arguments of journalctl that select the entries. */
function placeOf({ unit, kernel, since }: ParametersOf<"logs">, { wallMs }: Asking): string[] {
  return [
    // In the form --name=VALUE, no value is an option.
    ...(unit === undefined ? [] : [`--unit=${unit}`]),
    ...(kernel === undefined ? [] : ["_TRANSPORT=kernel"]),
    ...(since === undefined ? [] : [`--since=@${Math.floor(wallMs() / 1000) - since}`]),
  ];
}

export async function* journalEntries(
  args: readonly string[],
  { run, signal }: Asking,
): AsyncGenerator<JournalEntry> {
  for await (const line of run("journalctl", [...JOURNAL, ...args], { signal })) {
    const entry = parsed(line);
    if (entry !== null) yield entry;
  }
}

function parsed(line: string): JournalEntry | null {
  try {
    return JSON.parse(line) as JournalEntry;
  } catch {
    // A line that was cut for its length.
    return null;
  }
}

async function* newestFirst(entries: AsyncIterable<JournalEntry>): AsyncGenerator<string> {
  for await (const entry of entries) yield* entryLines(entry).reverse();
}

/** Returns an entry as journalctl shows it: time, program, message. Each further line of a message is indented. */
export function entryLines(entry: JournalEntry): string[] {
  const { SYSLOG_IDENTIFIER, _COMM, _PID } = entry;
  const program = `${SYSLOG_IDENTIFIER ?? _COMM ?? "unknown"}${_PID === undefined ? "" : `[${_PID}]`}`;
  const [first = "", ...others] = messageOf(entry).split("\n");
  return [`${timeOf(entry)} ${program}: ${first}`, ...others.map((line) => `    ${line}`)];
}

export function messageOf({ MESSAGE }: JournalEntry): string {
  if (MESSAGE === null) return "(a message of more than 4096 bytes)";
  if (!Array.isArray(MESSAGE)) return MESSAGE ?? "";
  return isBytes(MESSAGE)
    ? Buffer.from(MESSAGE).toString()
    : MESSAGE.map((each) => messageOf({ MESSAGE: each })).join("\n");
}

const isBytes = (list: number[] | Message[]): list is number[] => typeof list[0] === "number";

/** Returns the entry's time in RFC 3339. The journal counts microseconds since 1970. */
export function timeOf({ __REALTIME_TIMESTAMP: time }: JournalEntry): string {
  return timeText(Number(time) / 1000);
}
