// What others have done to the parts of a machine's Node that are ours: values that stay theirs, and parts that they undo
// again and again. Kept until it changes, for the machine's history and its own operator.
import { MAX_IMAGE_BYTES } from "../../shared/from-report/reported-status.ts";
import type { GrantHolder } from "../../shared/from-report/within-grant.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { movedTo } from "../../shared/node/ownership.ts";
import {
  afterWrite,
  type HeldBack,
  hourlyParts,
  type OthersParts,
  putBackParts,
  type WrittenParts,
} from "../../shared/node/parts.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { DEFAULT_SETTINGS } from "../../shared/protocol/settings.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import type { TickContext } from "./context.ts";

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
  return parts.length === 0 ? [] : [`${what}: ${shortened(parts).join(", ")}`];
}

/** A row only where somebody has undone something. */
function keep({ records, memory }: Pick<Context, "records" | "memory">, written: WrittenParts): void {
  memory.written = written;
  const lasting = putBackParts(written);
  if (Object.keys(lasting).length === 0) records.remove("putBack");
  else records.put("putBack", lasting);
}

// What is left out of a machine's Node, since it goes beyond its join token or a limit: kept until it changes, for the
// machine's history and its own operator.

/** In an answer; all of it is in history, as far as an entry goes. */
const MAX_NAMED = 8;

export function grantHolder({ name, enrolment, deployment }: TickContext): GrantHolder {
  return { name, grant: enrolment, fieldManager: fieldManagerOf(deployment) };
}

/** Images that the machine wants to list, and that its Node has no room for. */
export function imagesLeftOut({ images = [], settings }: Facts, listed: number): string[] {
  const { nodeStatusMaxImages: most = DEFAULT_SETTINGS.nodeStatusMaxImages } = settings;
  const wanted = most < 0 ? images.length : Math.min(most, images.length);
  return listed < wanted ? [`images beyond ${MAX_IMAGE_BYTES} bytes`] : [];
}

/** Returns the labels that the machine or its join token asks for, and that a bystander has under a key of ours. */
export function movedLabels(
  { settings, dropIns }: Facts,
  ofToken: Readonly<Record<string, string>>,
  leftOut: readonly string[], // withinGrant's: of the machine's, these have no key at all
): string[] {
  const ofMachine = Object.keys({ ...settings.nodeLabels, ...dropIns?.labels });
  const there = ofMachine.filter((key) => !leftOut.includes(`label ${key}`));
  return [...there, ...Object.keys(ofToken)].flatMap((key) => {
    const own = movedTo(key);
    return own === undefined ? [] : `label ${key} (it is ${own} there)`;
  });
}

/** `when`: what a Node is created with is looked at once for each process of the shim, its status with each report. */
export function recordLeftOut(
  { records, journal, nowMs }: Pick<TickContext, "records" | "journal" | "nowMs">,
  when: "registration" | "status",
  what: readonly string[],
): void {
  const { [when]: known = [], ...others } = records.get("leftOut") ?? {};
  const next = [...new Set(what)].sort();
  if (next.join() === known.join()) return;
  records.put("leftOut", { ...others, ...(next.length > 0 && { [when]: next }) });
  const named = new Set([...known, ...Object.values(others).flat()]);
  const added = next.filter((each) => !named.has(each));
  if (added.length > 0) journal.note("registration", leftOutSentence(added), nowMs());
}

/** undefined: nothing is left out. */
export function leftOutMessage(records: NodeRecordStore): string | undefined {
  const { registration = [], status = [] } = records.get("leftOut") ?? {};
  const all = [...new Set([...registration, ...status])];
  if (all.length === 0) return undefined;
  return leftOutSentence(shortened(all));
}

/** At most MAX_NAMED of them by name. */
function shortened(parts: readonly string[]): string[] {
  const more = parts.length > MAX_NAMED ? [`${parts.length - MAX_NAMED} more`] : [];
  return [...parts.slice(0, MAX_NAMED), ...more];
}

function leftOutSentence(what: readonly string[]): string {
  return `left out of its Node: ${what.join(", ")}`;
}
