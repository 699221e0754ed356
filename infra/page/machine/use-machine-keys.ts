// The keys of a machine's view: ask anew, up, and one for each section.
import { useLayoutEffect, useRef } from "preact/hooks";
import type { KeyBinding } from "../base/keys.ts";
import { usePage } from "../page.ts";
import { MACHINE_SECTIONS, type SectionId } from "./sections.ts";

export function goToSection(id: SectionId): void {
  const section = document.getElementById(id);
  if (!section) return;
  // In the URL, so that the place can be shared; by hand, so that going back does not lead through each section.
  history.replaceState(history.state, "", `${location.pathname}${location.search}#${id}`);
  section.scrollIntoView();
  section.focus({ preventScroll: true });
}

export function useMachineKeys(again: () => void): void {
  const { viewKeys, go, fleetHref } = usePage();
  const latest = useRef(again);
  latest.current = again;
  // With the view itself: an effect would come later, and lose a key that is pressed before.
  useLayoutEffect(() => {
    const own: KeyBinding[] = [
      { key: "r", does: "asks the machine’s object anew", run: () => latest.current() },
      { key: "u", does: "goes up to the fleet, as it was left", run: () => go(fleetHref()) },
      ...MACHINE_SECTIONS.map(({ id, title, key }) => ({
        key,
        does: `goes to: ${title}`,
        run: () => goToSection(id),
      })),
    ];
    // Parts of the view have keys of their own.
    viewKeys.value = [...viewKeys.value, ...own];
    return () => {
      viewKeys.value = viewKeys.value.filter((each) => !own.includes(each));
    };
  }, []);
}
