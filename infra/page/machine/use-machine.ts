// What is known of one machine: what the feed tells of it now, and all that its object says. The object is woken when the
// view is opened, when the feed says that the machine changed, and on demand: never by the clock.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { AskFault } from "../base/api.ts";
import { machinePath } from "../base/machine-path.ts";
import { usePage } from "../page.ts";
import { useAgainOnChange } from "../parts/use-again-on-change.ts";
import { useAnswer } from "../parts/use-answer.ts";
import { diagnose } from "./diagnosis.ts";
import type { MachineDiagnosis } from "./diagnosis-types.ts";
import { type MachineNeighbours, neighboursOf } from "./neighbours.ts";

export interface WatchedMachine {
  name: string;
  /** null: the feed does not know it (yet). */
  live: FeedMachine | null;
  /** null: there was no answer yet. */
  whole: WholeNode | null;
  fault: AskFault | null;
  isAsking: boolean;
  /** When `whole` came; 0: it has not. */
  answeredMs: number;
  /** Rises when the feed tells that it changed. */
  change: string;
  neighbours: MachineNeighbours | null;
  /** null: nothing is known of it yet. */
  diagnosis: MachineDiagnosis | null;
  /** Does a machine wait for this name? */
  isContested: boolean;
  again: () => void;
}

export function useMachine(name: string): WatchedMachine {
  const page = usePage();
  const { value: whole, fault, isAsking, again } = useAnswer<WholeNode>(machinePath(name));
  const live = useComputed(() => {
    void page.live.revision.value;
    return page.live.machines().get(name) ?? null;
  }).value;
  const neighbours = useComputed(() => {
    void page.live.revision.value;
    const machine = page.live.machines().get(name);
    // Of a silent one alone it says something, and it looks at all machines.
    if (machine?.state !== "silent") return null;
    return neighboursOf(machine, page.live.machines().values(), page.live.outages.value.values());
  }).value;
  const isContested = useComputed(() => page.live.pending.value.some((each) => each.name === name)).value;
  const change = useMemo(() => JSON.stringify(live), [live]);
  useAgainOnChange({ isAsking, again }, change);
  const answeredMs = useMemo(() => (whole ? page.clock.peek() : 0), [whole]);
  const diagnosis = useMemo(
    () => diagnose({ name, live, whole, answeredMs, neighbours, isContested }),
    [change, whole, neighbours, isContested],
  );
  return {
    name,
    live,
    whole,
    fault,
    isAsking,
    answeredMs,
    change,
    neighbours,
    diagnosis,
    isContested,
    again,
  };
}
