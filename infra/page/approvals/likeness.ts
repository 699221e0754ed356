// Is the machine that asks for a name the one that has it? In what both are equal, and what that means. Pure.
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";

export type Likeness = "equal" | "different" | "unknown";

export interface PendingAssessment {
  machineID: Likeness;
  systemUUID: Likeness;
  address: Likeness;
  /** What that comes to, in a sentence or two. */
  sentence: string;
}

const likeness = (one: string, other: string | undefined): Likeness => {
  if (one === "" || other === undefined || other === "") return "unknown";
  return one === other ? "equal" : "different";
};

export function assess(machine: PendingMachine): PendingAssessment {
  const { pinned } = machine;
  const machineID = likeness(machine.machineID, pinned?.machineID);
  const systemUUID = likeness(machine.systemUUID, pinned?.systemUUID);
  const address = likeness(machine.address, pinned?.address);
  return { machineID, systemUUID, address, sentence: sentenceOf(machine, machineID, systemUUID) };
}

function sentenceOf({ pinned }: PendingMachine, machineID: Likeness, systemUUID: Likeness): string {
  if (!pinned) return "Nobody has the name any more: to approve takes nothing from another machine.";
  const unused = pinned.hasReported ? "" : " The one that has the name has never reported.";
  if (machineID === "equal" && systemUUID === "equal")
    return `The same machine and installation, by what both say: its key was most likely lost or made anew.${unused}`;
  if (systemUUID === "equal")
    return `The same hardware with another installation, by what both say: most likely it was installed anew.${unused}`;
  if (machineID === "equal")
    return `The same installation on other hardware, by what both say: a disk that was moved, or copied.${unused}`;
  if (machineID === "different" && systemUUID === "different")
    return `Another machine, by all that both say. Approve it only if it takes the place of the one that has the name.${unused}`;
  return `What both say does not tell whether it is the same machine. See who set it up.${unused}`;
}
