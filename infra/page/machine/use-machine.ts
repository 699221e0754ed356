// Reads a machine from the feed and its node object, which opening, changes and the operator wake, but no timer.
import { useComputed } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { machinePath } from "../base/api.ts";
import type { KeyBinding } from "../base/keys.ts";
import { withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { useAgainOnChange, useAnswer } from "../parts/answer.tsx";
import { diagnose } from "./diagnosis.ts";
import { neighboursOf } from "./neighbours.ts";
import { MACHINE_SECTIONS, type SectionId } from "./section.tsx";

export type WatchedMachine = ReturnType<typeof useMachine>;

export function useMachine(name: string) {
  const page = usePage();
  const { value: whole, fault, isLoading, again } = useAnswer<WholeNode>(machinePath(name));
  // null if the feed does not contain the machine.
  const live = useComputed(() => {
    void page.live.revision.value;
    return page.live.machines().get(name) ?? null;
  }).value;
  const neighbours = useComputed(() => {
    void page.live.revision.value;
    const machine = page.live.machines().get(name);
    // The neighbours matter for a silent machine only. Finding them reads all machines.
    if (machine?.state !== "silent") return null;
    return neighboursOf(machine, page.live.machines().values(), page.live.outages.value.values());
  }).value;
  const isContested = useComputed(() => page.live.pending.value.some((each) => each.name === name)).value;
  const change = useMemo(() => JSON.stringify(live), [live]);
  useAgainOnChange({ isLoading, again }, change);
  const answeredMs = useMemo(() => (whole ? page.clock.peek() : 0), [whole]);
  const diagnosis = useMemo(
    () => diagnose({ name, live, whole, answeredMs, neighbours, isContested }),
    [change, whole, neighbours, isContested],
  );
  return { name, live, whole, fault, isLoading, answeredMs, change, neighbours, diagnosis, again };
}

export function goToSection(id: SectionId): void {
  const section = document.getElementById(id);
  if (!section) return;
  // The URL gets the section's fragment, so that the operator can share it. The browser's history gets no entry.
  history.replaceState(history.state, "", `${location.pathname}${location.search}#${id}`);
  section.scrollIntoView();
  section.focus({ preventScroll: true });
}

/** Sets the shortcuts of the view. The tab "Ask" has no sections. */
export function useMachineKeys(again: () => void, isAsk: boolean): void {
  const { viewKeys, go, fleetHref, session, route } = usePage();
  const latest = useRef(again);
  latest.current = again;
  // The shortcuts are set in a layout effect, because a later effect would miss an early key.
  useLayoutEffect(() => {
    const own: KeyBinding[] = [
      { key: "r", does: "refreshes the machine", run: () => latest.current() },
      { key: "u", does: "goes up to the fleet, as it was left", run: () => go(fleetHref()) },
      ...(session.mayAsk() && !isAsk
        ? [{ key: "q", does: "asks the machine", run: () => go(withRest(route.value, { tab: "ask" })) }]
        : []),
      ...(isAsk ? [] : MACHINE_SECTIONS).map(({ id, title, key }) => ({
        key,
        does: `goes to: ${title}`,
        run: () => goToSection(id),
      })),
    ];
    // The parts of the view have added shortcuts already, which must stay.
    viewKeys.value = [...viewKeys.value, ...own];
    return () => {
      viewKeys.value = viewKeys.value.filter((each) => !own.includes(each));
    };
  }, [isAsk]);
}
