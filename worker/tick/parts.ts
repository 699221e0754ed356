// Records the parts of a machine's Node that differ from the machine's report: values that other writers keep, parts
// that other writers undo, and parts that the join token does not grant. Each change is a line of history and a message
// to the machine.
import { MAX_IMAGE_BYTES } from "../../shared/from-report/reported-status.ts";
import { type GrantedParts, withinRules } from "../../shared/from-report/rules-within-grant.ts";
import { type GrantHolder, namesToCheck } from "../../shared/from-report/within-grant.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { dnsSubdomainErrors } from "../../shared/kubernetes/validation.ts";
import { movedTo } from "../../shared/node/ownership.ts";
import {
  afterWrite,
  type HeldBack,
  hourlyParts,
  type OthersParts,
  putBackParts,
  type WrittenParts,
} from "../../shared/node/parts.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { DEFAULT_SETTINGS } from "../../shared/protocol/settings.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { Stored } from "../storage/journal.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import type { RequestBudget } from "./budgets.ts";
import { isNodeMissing } from "./own-node.ts";

interface RecordingMachine extends Stored {
  nowMs: () => number;
}

/** Records the parts that keep another writer's value. `put`: the parts written now. Call it with each decision. */
export function recordOthers(
  { records, journal, nowMs }: RecordingMachine,
  others: OthersParts,
  put: readonly string[],
): void {
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

/** Records the parts that other writers undo and that are put back only once an hour. Call it before each write. */
export function recordHeldBack(
  { records, journal, nowMs }: RecordingMachine,
  before: WrittenParts,
  { written }: HeldBack,
): void {
  if (written === before) return;
  keepUndone(records, written);
  const [was, is] = [hourlyParts(before), hourlyParts(written)];
  for (const part of is.filter((each) => !was.includes(each)))
    journal.note("registration", `put back once an hour only: ${part}`, nowMs());
  for (const [part, { by }] of Object.entries(before))
    if (by !== undefined && written[part]?.by === undefined)
      journal.note("registration", `${part} is put back at once again`, nowMs());
}

/** Records and returns the written parts. `answer`: the Node that the apiserver returned. Call it after each write. */
export function recordWritten(
  { records, nowMs }: Omit<RecordingMachine, "journal">,
  { written, wanted }: HeldBack,
  answer: Node,
): WrittenParts {
  const after = afterWrite(written, wanted, answer, nowMs());
  keepUndone(records, after);
  return after;
}

/** Stores the parts that another writer has undone; writes no row if there are none. */
function keepUndone(records: NodeRecordStore, written: WrittenParts): void {
  const undone = putBackParts(written);
  if (Object.keys(undone).length === 0) records.remove("putBack");
  else records.put("putBack", undone);
}

/** Returns a message for the machine's operator; undefined if no other writer has changed a part that rollcall sets. */
export function othersMessage(records: NodeRecordStore): string | undefined {
  const hourly = hourlyParts(records.get("putBack") ?? {});
  const theirs = Object.entries(records.get("others") ?? {}).map(([part, manager]) => `${part} (${manager})`);
  const sentences = [
    ...(hourly.length > 0 ? [`put back once an hour only: ${shortened(hourly)}`] : []),
    ...(theirs.length > 0 ? [`stays as others have set it: ${shortened(theirs)}`] : []),
  ];
  return sentences.length === 0 ? undefined : sentences.join("; ");
}

interface GrantedMachine extends Pick<Stored, "records"> {
  name: string;
  enrolment: Grant;
  deployment: string;
}

export function grantHolder({ name, enrolment, deployment, records }: GrantedMachine): GrantHolder {
  const { names = {} } = records.get("nodeNames") ?? {};
  const isOtherNode = (text: string) => Object.hasOwn(names, text) && names[text] !== false;
  return { name, grant: enrolment, fieldManager: fieldManagerOf(deployment), isOtherNode };
}

/** Returns the parts of rules that the machine's Node has, as far as its grant allows them. */
export function ruledParts({
  records,
  enrolment,
}: Pick<GrantedMachine, "records" | "enrolment">): GrantedParts {
  return withinRules(records.get("ruled")?.result, enrolment);
}

interface NamingMachine extends GrantedMachine {
  facts: Facts;
  report: Pick<Report, "startId">;
  requests: Pick<RequestBudget, "allows">;
  client: (withinMs: number) => KubeClient;
  nowMs: () => number;
}

/** The time after which the machine's names are checked again, since a Node may get such a name later. */
const NAMES_GOOD_MS = 3_600_000;
/** The time limit of all requests about the DNS names in one report. */
const NAMES_WITHIN_MS = 2000;

/** Asks the apiserver which DNS names of the machine are other Nodes' names. Most machines report only their own name. */
export async function learnNames(machine: NamingMachine): Promise<void> {
  const { records, report, facts, requests } = machine;
  const asked = namesToCheck(facts, grantHolder(machine));
  const stored = records.get("nodeNames");
  if (asked.length === 0) {
    if (stored) records.remove("nodeNames");
    return;
  }
  const nowMs = machine.nowMs();
  const { names: before = {}, atMs = 0 } = stored?.startId === report.startId ? stored : {};
  const isGood = Math.abs(nowMs - atMs) < NAMES_GOOD_MS;
  if (isGood && asked.every((name) => typeof before[name] === "boolean")) return;
  const client = machine.client(NAMES_WITHIN_MS);
  const names: Record<string, boolean | null> = {};
  for (const name of asked) {
    const former = before[name] ?? null;
    const isAsked = !(isGood && former !== null) && requests.allows("node");
    names[name] = (isAsked ? await isNode(client, name) : null) ?? former;
  }
  records.put("nodeNames", { startId: report.startId, names, atMs: isGood ? atMs : nowMs });
}

/** Returns null if the apiserver does not answer. */
async function isNode(client: KubeClient, name: string): Promise<boolean | null> {
  if (dnsSubdomainErrors(name).length > 0) return false;
  const found = await client.getNode(name, true);
  return found.ok ? true : isNodeMissing(found.error, name) ? false : null;
}

/** Returns a list with one text if the machine has more images than its Node may list; otherwise an empty list. */
export function imagesLeftOut({ images = [], settings }: Facts, listed: number): string[] {
  const { nodeStatusMaxImages: most = DEFAULT_SETTINGS.nodeStatusMaxImages } = settings;
  const wanted = most < 0 ? images.length : Math.min(most, images.length);
  return listed < wanted ? [`images beyond ${MAX_IMAGE_BYTES} bytes`] : [];
}

/** Returns the requested labels that a Node without pods has under rollcall's own keys instead. */
export function movedLabels(
  { settings, dropIns }: Facts,
  ofToken: Readonly<Record<string, string>>,
  leftOut: readonly string[], // the labels that withinGrant left out: a Node without pods has no own key for them
): string[] {
  const ofMachine = Object.keys({ ...settings.nodeLabels, ...dropIns?.labels });
  const there = ofMachine.filter((key) => !leftOut.includes(`label ${key}`));
  return [...there, ...Object.keys(ofToken)].flatMap((key) => {
    const own = movedTo(key);
    return own === undefined ? [] : `label ${key} (it is ${own} there)`;
  });
}

/** Records the parts that a decision left out. `when`: registrations decide once per process, the status each time. */
export function recordLeftOut(
  { records, journal, nowMs }: RecordingMachine,
  when: "registration" | "status" | "features",
  what: readonly string[],
): void {
  const { [when]: known = [], ...others } = records.get("leftOut") ?? {};
  const next = [...new Set(what)].sort();
  if (next.join() === known.join()) return;
  records.put("leftOut", { ...others, ...(next.length > 0 && { [when]: next }) });
  const named = new Set([...known, ...Object.values(others).flat()]);
  const added = next.filter((each) => !named.has(each));
  if (added.length > 0) journal.note("registration", `left out of its Node: ${added.join(", ")}`, nowMs());
}

/** Returns a message with the parts that were left out; undefined if there are none. */
export function leftOutMessage(records: NodeRecordStore): string | undefined {
  const { registration = [], status = [], features = [] } = records.get("leftOut") ?? {};
  const all = [...new Set([...registration, ...status, ...features])];
  return all.length === 0 ? undefined : `left out of its Node: ${shortened(all)}`;
}

/** The most parts that a message names. History names all parts, up to the length of a line. */
const MAX_NAMED = 8;

function shortened(parts: readonly string[]): string {
  const more = parts.length > MAX_NAMED ? [`${parts.length - MAX_NAMED} more`] : [];
  return [...parts.slice(0, MAX_NAMED), ...more].join(", ");
}
