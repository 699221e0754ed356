// Who has set the labels and taints of a machine's Node, as far as the Node that is known says. Asks nobody.
import { fieldOwners } from "../../shared/kubernetes/managed-fields.ts";
import type { Node, Taint } from "../../shared/kubernetes/types.ts";
import { isSameTaint } from "../../shared/node/initial-node.ts";
import { everSaid, isOfCondition, type SaidTaints } from "../../shared/node/taints.ts";
import { FACTS_ONLY_TAINT } from "../../shared/node/ownership.ts";
import type { ShownManagers } from "../../shared/protocol/operator-answers.ts";
import { fieldManagerOf } from "../kube/connect.ts";

/** `said`: the taints that machine and token have said. What the apiserver does not record is absent. */
export function shownManagers(
  node: Node | undefined,
  deployment: string,
  said: Partial<SaidTaints> | undefined,
): ShownManagers {
  const { metadata, spec } = node ?? {};
  const ours = fieldManagerOf(deployment);
  const ownersOf = (...path: string[]) => fieldOwners(metadata, path);
  const labels = Object.keys(metadata?.labels ?? {}).flatMap((key): [string, string][] => {
    const owners = ownersOf("f:metadata", "f:labels", `f:${key}`);
    // Where somebody else has set the same value, it stays theirs: leaveOthers.
    const manager = owners.find((owner) => owner !== ours) ?? owners[0];
    return manager === undefined ? [] : [[key, manager]];
  });
  const own = [...everSaid(said), FACTS_ONLY_TAINT];
  const [last, ...more] = ownersOf("f:spec", "f:taints");
  const taints = (spec?.taints ?? []).flatMap((taint): [string, string][] => {
    const isOwn = own.some((each) => isSameTaint(each, taint) && (each.value ?? "") === (taint.value ?? ""));
    const manager = isOwn ? ours : more.length === 0 ? managerOf(taint, last) : undefined;
    return manager === undefined ? [] : [[`${taint.key}:${taint.effect}`, manager]];
  });
  return { labels: Object.fromEntries(labels), taints: Object.fromEntries(taints) };
}

/**
 * The apiserver records who changed the list of taints last, and not who set each: controllers set those of conditions, and
 * everybody else all others.
 */
function managerOf(taint: Taint, last: string | undefined): string | undefined {
  const isController = last?.endsWith("controller-manager") ?? false;
  return isController === isOfCondition(taint) ? last : undefined;
}
