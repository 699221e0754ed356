// What is left out of a machine's Node, since it goes beyond its join token or a limit: kept until it changes, for the
// machine's history and its own operator.
import { MAX_IMAGE_BYTES } from "../../shared/from-report/reported-status.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { movedTo } from "../../shared/node/ownership.ts";
import { DEFAULT_SETTINGS } from "../../shared/protocol/settings.ts";
import type { GrantHolder } from "../../shared/from-report/within-grant.ts";
import { fieldManagerOf } from "../kube/connect.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import type { TickContext } from "./context.ts";

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
  if (added.length > 0) journal.note("registration", sentence(added), nowMs());
}

/** undefined: nothing is left out. */
export function leftOutMessage(records: NodeRecordStore): string | undefined {
  const { registration = [], status = [] } = records.get("leftOut") ?? {};
  const all = [...new Set([...registration, ...status])];
  if (all.length === 0) return undefined;
  const more = all.length > MAX_NAMED ? [`${all.length - MAX_NAMED} more`] : [];
  return sentence([...all.slice(0, MAX_NAMED), ...more]);
}

function sentence(what: readonly string[]): string {
  return `left out of its Node: ${what.join(", ")}`;
}
