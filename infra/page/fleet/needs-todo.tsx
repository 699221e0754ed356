// Draws the remedy for a machine that needs attention, with the words of the machine's own view. The texts are long, so
// this file is loaded on demand.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { hrefOf } from "../base/places.ts";
import { diagnose, type DiagnosisLink } from "../machine/diagnosis.ts";
import { type MachineNeighbours, neighboursOf } from "../machine/neighbours.ts";
import { usePage } from "../page.ts";
import { MarkedText } from "../parts/command.tsx";
import { Link } from "../parts/link.tsx";
import type { MachineGroup } from "./needs-list.ts";

export interface TodoTextProps {
  group: MachineGroup;
  machine: FeedMachine;
}

export function TodoText({ group, machine }: TodoTextProps) {
  const { live } = usePage();
  const neighbours = neighboursOf(machine, live.machines().values(), live.outages.value.values());
  const { todo, link } = remedyOf(group, machine, neighbours);
  return (
    <>
      {todo !== "" && <MarkedText text={todo} name={machine.name} />}{" "}
      <Link href={placeOf(link, machine.name, neighbours)}>{LINK_WORDS[link]}</Link>
    </>
  );
}

interface Remedy {
  todo: string;
  link: DiagnosisLink;
}

/** Returns the remedy for a machine in a group, with the place of the page that shows more. */
export function remedyOf(
  group: MachineGroup,
  machine: FeedMachine,
  neighbours: MachineNeighbours | null,
): Remedy {
  // A skewed clock is a warning after that of a cordon.
  const live = group === "skewed" ? { ...machine, isUnschedulable: false } : machine;
  const input = { name: machine.name, live, whole: null, answeredMs: 0, neighbours, isContested: false };
  const diagnosis = diagnose(input);
  const isReady = group === "conditions" || group === "skewed";
  const found = isReady ? diagnosis?.warnings[0] : diagnosis;
  return { todo: found?.todo ?? "", link: found?.link ?? "history" };
}

const LINK_WORDS: Readonly<Record<DiagnosisLink, string>> = {
  approvals: "Approvals",
  deployment: "The deployment’s checks",
  outage: "The machines of this outage",
  clones: "Who reports with its key",
  history: "Its history",
};

function placeOf(link: DiagnosisLink, machine: string, neighbours: MachineNeighbours): string {
  switch (link) {
    case "approvals":
    case "deployment":
      return hrefOf({ view: link });
    case "outage":
      return hrefOf({ view: "fleet" }, { outage: String(neighbours.outage?.id ?? "") });
    case "clones":
      return `${hrefOf({ machine })}#key`;
    default:
      return `${hrefOf({ machine })}#history`;
  }
}
