// Finds the remedy for a machine that needs attention. This file is loaded on demand, because its texts are long.
import {
  CONDITION_EXPLANATIONS,
  type Explanation,
  PHASE_EXPLANATIONS,
  STATE_EXPLANATIONS,
} from "../../../shared/fleet/explanations.ts";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { isClusterAway } from "../../../shared/fleet/state.ts";
import { wrongConditions } from "../../../shared/fleet/well-conditions.ts";
import { MarkedText } from "../parts/command.tsx";
import type { MachineGroup } from "./needs-list.ts";

export interface TodoTextProps {
  group: MachineGroup;
  machine: FeedMachine;
}

export function TodoText({ group, machine }: TodoTextProps) {
  return <MarkedText text={todoOf(group, machine)} />;
}

/** Returns the remedy for a machine in a group. Never returns "". */
export function todoOf(group: MachineGroup, machine: FeedMachine): string {
  if (group === "skewed") return SKEWED;
  const found =
    (group === "blocked" && explanation(PHASE_EXPLANATIONS, machine.phase)) ||
    (group === "not-ready" && ofNotReady(machine)) ||
    (group === "conditions" && ofCondition(machine)) ||
    explanation(STATE_EXPLANATIONS, machine.state);
  return (found?.todo ?? "").replaceAll("NAME", machine.name) || NOTHING_KNOWN;
}

const SKEWED = "Set the machine's clock, and have it kept: `timedatectl set-ntp true` there, or chrony.";
const NOTHING_KNOWN = "Look at the machine's history.";

const explanation = (table: Readonly<Record<string, Explanation | undefined>>, key: string | null) =>
  key === null ? undefined : table[key];

/** Returns the explanation of a condition, or of the machine's phase if the machine has no written Node. */
function ofNotReady(machine: FeedMachine): Explanation | undefined {
  if (machine.phase !== "registered" && !isClusterAway(machine.phase))
    return explanation(PHASE_EXPLANATIONS, machine.phase);
  return ofCondition(machine);
}

const ofCondition = ({ conditions }: FeedMachine) =>
  explanation(CONDITION_EXPLANATIONS, wrongConditions(conditions)[0]?.type ?? null);
