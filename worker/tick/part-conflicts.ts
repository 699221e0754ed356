// What others have done to the parts of a machine's Node that are ours: values that stay theirs, and parts that they undo
// again and again. Kept until it changes, for the machine's history and its own operator.
import type { OthersParts } from "../../shared/node/leave-others.ts";
import {
  afterWrite,
  type HeldBack,
  hourlyParts,
  putBackParts,
  type WrittenParts,
} from "../../shared/node/put-back.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { TickContext } from "./context.ts";

/** In an answer; all of it is in history, as far as an entry goes. */
const MAX_NAMED = 8;

type Context = Pick<TickContext, "records" | "memory" | "journal" | "nowMs">;

/** What was written of each part of ours, and is not sure to stand. */
export function writtenParts({ records, memory }: Pick<Context, "records" | "memory">): WrittenParts {
  return (memory.written ??= records.get("putBack") ?? {});
}

/** Call it with each decision; a row is written where the answer differs from the one before. */
export function recordOthers(context: Context, others: OthersParts, put: readonly string[]): void {
  const { records, journal, nowMs } = context;
  const known = records.get("others") ?? {};
  if (Object.keys(others).length === 0) records.remove("others");
  else records.put("others", others);
  for (const [part, manager] of Object.entries(others))
    if (known[part] !== manager)
      journal.note("registration", `${part} stays as ${manager} has set it`, nowMs());
  for (const [part, manager] of Object.entries(known))
    if (others[part] === undefined && put.includes(part))
      journal.note("registration", `${part} is set again: what ${manager} had set is gone`, nowMs());
}

/** Call it with each decision, before the Node is sent. */
export function recordHeldBack(context: Context, { written }: HeldBack): void {
  const before = writtenParts(context);
  if (written === before) return;
  keep(context, written);
  const [was, is] = [before, written].map(hourlyParts) as [string[], string[]];
  const { journal, nowMs } = context;
  for (const part of is.filter((each) => !was.includes(each)))
    journal.note("registration", `put back once an hour only: ${part}`, nowMs());
  for (const [part, { by }] of Object.entries(before))
    if (by !== undefined && written[part]?.by === undefined)
      journal.note("registration", `${part} is put back at once again`, nowMs());
}

/** Call it once the parts are written. `answer`: the Node as the apiserver has it after that. */
export function recordWritten(context: Context, { written, wanted }: HeldBack, answer: Node): void {
  keep(context, afterWrite(written, wanted, answer, context.nowMs()));
}

/** A Node that was created has nothing to put back. */
export function forgetWritten({ records, memory }: Pick<Context, "records" | "memory">): void {
  memory.written = {};
  records.remove("putBack");
}

/** For the machine's operator; undefined: nobody else has a part of ours. */
export function othersMessage({ records }: Pick<Context, "records">): string | undefined {
  const hourly = hourlyParts(records.get("putBack") ?? {});
  const theirs = Object.entries(records.get("others") ?? {}).map(([part, manager]) => `${part} (${manager})`);
  const said = [
    ...sentence("put back once an hour only", hourly),
    ...sentence("stays as others have set it", theirs),
  ];
  return said.length === 0 ? undefined : said.join("; ");
}

function sentence(what: string, parts: readonly string[]): string[] {
  if (parts.length === 0) return [];
  const more = parts.length > MAX_NAMED ? [`${parts.length - MAX_NAMED} more`] : [];
  return [`${what}: ${[...parts.slice(0, MAX_NAMED), ...more].join(", ")}`];
}

/** A row only where somebody has undone something. */
function keep({ records, memory }: Pick<Context, "records" | "memory">, written: WrittenParts): void {
  memory.written = written;
  const lasting = putBackParts(written);
  if (Object.keys(lasting).length === 0) records.remove("putBack");
  else records.put("putBack", lasting);
}
