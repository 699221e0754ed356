// What needs somebody, most urgent first. What it shows changes as the feed does; what somebody points at keeps its place.
import { useComputed, useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { usePage } from "../page.ts";
import { StateSign } from "../parts/state-word.tsx";
import { fleetQueryOf } from "./fleet-query.ts";
import { type Folds, foldsOf, foldsText, withFirstFolds } from "./needs-folds.ts";
import { GroupSection } from "./needs-group.tsx";
import {
  type HeldPlaces,
  heldPlaces,
  type NeedsGroup,
  type NeedsKind,
  needsList,
  unlessSame,
} from "./needs-list.ts";
import { OutageLine } from "./needs-outage-line.tsx";
import { counted, NEEDS_HEADINGS } from "./needs-words.ts";

export function NeedsSomebody() {
  const { route, live } = usePage();
  const { outage } = fleetQueryOf(route.value.rest);
  return (
    <>
      {live.isKnown.value ? <Groups /> : <p class="needs-calm quiet">Nothing is known of the fleet yet.</p>}
      {outage !== null && <OutageLine key={outage} id={outage} />}
    </>
  );
}

type TargetedFocus = FocusEvent & { currentTarget: HTMLElement };

const NOTHING_HELD: HeldPlaces = new Map();

function Groups() {
  const { live } = usePage();
  const id = useId();
  const held = useSignal(NOTHING_HELD);
  const shown = useRef<readonly NeedsGroup[]>([]);
  const groups = useComputed(() => {
    void live.revision.value;
    const fleet = {
      machines: live.machines().values(),
      outages: live.outages.value.values(),
      pending: live.pending.value,
    };
    shown.current = unlessSame(shown.current, needsList(fleet, held.value));
    return shown.current;
  });
  const { areOpen, choose } = useFolds(groups.value);
  if (groups.value.length === 0) return <Calm />;
  const hold = () => {
    if (held.value === NOTHING_HELD) held.value = heldPlaces(groups.value);
  };
  const letGo = () => {
    held.value = NOTHING_HELD;
  };
  // From one line to the next the focus stays inside.
  const leave = ({ relatedTarget, currentTarget }: TargetedFocus) => {
    if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) letGo();
  };
  return (
    <section
      class="needs"
      aria-labelledby={id}
      onPointerEnter={hold}
      onPointerLeave={letGo}
      onFocusIn={hold}
      onFocusOut={leave}
    >
      <h2 id={id}>Needs somebody</h2>
      <div class="needs-groups">
        {groups.value.map((group) => (
          <GroupSection
            key={group.kind}
            group={group}
            isOpen={areOpen.get(group.kind) ?? true}
            onFold={(isOpen) => choose(group.kind, isOpen)}
          />
        ))}
      </div>
    </section>
  );
}

const KINDS = Object.keys(NEEDS_HEADINGS) as NeedsKind[];
const KEPT = "needs";

/** What was decided for a group lasts as long as the view, and what somebody has chosen as long as the browser keeps it. */
function useFolds(groups: readonly NeedsGroup[]) {
  const { preferences } = usePage();
  const chosen = useSignal<Folds>(foldsOf(preferences.get(KEPT) ?? "", KINDS));
  const decided = useRef<Folds>(chosen.value);
  decided.current = withFirstFolds(groups, new Map([...decided.current, ...chosen.value]));
  const choose = (kind: NeedsKind, isOpen: boolean) => {
    if (decided.current.get(kind) === isOpen) return;
    chosen.value = new Map([...chosen.value, [kind, isOpen]]);
    preferences.set(KEPT, foldsText(chosen.value));
  };
  return { areOpen: decided.current, choose };
}

function Calm() {
  const { live } = usePage();
  const ready = live.counts.value["ready"] ?? 0;
  return (
    <p class="needs-calm">
      <StateSign state="ready" />
      Nothing needs somebody.
      <span class="quiet">{counted(ready, "machine is ready", "machines are ready")}</span>
    </p>
  );
}
