// Draws the feed's problems, most urgent first. Lines keep their places while the operator points at them.
import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { MarkedText } from "../parts/command.tsx";
import { lazyView } from "../parts/lazy-view.tsx";
import { Link } from "../parts/link.tsx";
import { StateSign } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import { fleetQueryOf } from "./fleet-query.ts";
import {
  type Folds,
  foldsOf,
  foldsText,
  type HeldPlaces,
  heldPlaces,
  keyOf,
  type MachineGroup,
  type NeedsGroup,
  type NeedsKind,
  needsList,
  sinceOf,
  unlessSame,
  type Unwritten,
} from "./needs-list.ts";
import { OutageEntry, OutageLine, TableLink } from "./needs-outage.tsx";
import type { TodoTextProps } from "./needs-todo.tsx";
import {
  counted,
  digestOf,
  NEEDS_HEADINGS,
  NEEDS_MEANINGS,
  pendingText,
  UNWRITTEN_TODO,
  whyOf,
} from "./needs-words.ts";

export function NeedsAttention() {
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
  const { areOpen, choose } = useFolds();
  if (groups.value.length === 0) return <Calm />;
  const hold = () => {
    if (held.value === NOTHING_HELD) held.value = heldPlaces(groups.value);
  };
  const letGo = () => {
    held.value = NOTHING_HELD;
  };
  // If the focus only moves to another line, the lines still keep their places.
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
      <h2 id={id}>Needs attention</h2>
      <div class="needs-groups">
        {groups.value.map((group) => (
          <GroupSection
            key={group.kind}
            group={group}
            isOpen={areOpen.get(group.kind) ?? false}
            onFold={(isOpen) => choose(group.kind, isOpen)}
          />
        ))}
      </div>
    </section>
  );
}

const KINDS = Object.keys(NEEDS_HEADINGS) as NeedsKind[];
const KEPT = "needs";

/** Returns the open groups, and a function that opens or closes one. The browser stores the operator's choices. */
function useFolds() {
  const { preferences } = usePage();
  const chosen = useSignal<Folds>(foldsOf(preferences.get(KEPT) ?? "", KINDS));
  const choose = (kind: NeedsKind, isOpen: boolean) => {
    if ((chosen.value.get(kind) ?? false) === isOpen) return;
    chosen.value = new Map([...chosen.value, [kind, isOpen]]);
    preferences.set(KEPT, foldsText(chosen.value));
  };
  return { areOpen: chosen.value, choose };
}

function Calm() {
  const { live } = usePage();
  const ready = live.counts.value["ready"] ?? 0;
  const isAll = ready === live.machines().size;
  const machines = counted(ready, "machine is", "machines are");
  return (
    <p class="needs-calm">
      <StateSign state="ready" />
      {isAll && ready > 1 ? `All ${machines} ready.` : `Nothing needs attention: ${machines} ready.`}
    </p>
  );
}

/** The remedies. These texts are long and seldom read, so they are not in the page's first load. */
const TodoText = lazyView<TodoTextProps>(async () => (await import("./needs-todo.tsx")).TodoText);

interface GroupSectionProps {
  group: NeedsGroup;
  isOpen: boolean;
  onFold: (isOpen: boolean) => void;
}

const SIGNS: Readonly<Record<NeedsKind, string>> = {
  outage: "silent",
  "cluster-unreachable": "cluster-unreachable",
  blocked: "blocked",
  "not-ready": "not-ready",
  silent: "silent",
  pending: "pending",
  conditions: "ready",
  skewed: "ready",
};

function GroupSection({ group, isOpen, onFold }: GroupSectionProps) {
  const { kind, count } = group;
  return (
    <details
      class={`needs-group needs-group-${kind}`}
      open={isOpen}
      onToggle={({ currentTarget }) => onFold(currentTarget.open)}
    >
      <summary title={NEEDS_MEANINGS[kind]}>
        <h3>
          <GroupSign kind={kind} />
          {NEEDS_HEADINGS[kind]} <span class="needs-count">{count.toLocaleString("en")}</span>
        </h3>
        {!isOpen && <Digest group={group} />}
      </summary>
      <Entries group={group} />
    </details>
  );
}

/** Draws the reasons of a closed group in one line, and when its latest problem began. */
function Digest({ group }: { group: NeedsGroup }) {
  const text = digestOf(group);
  const latest =
    group.kind === "cluster-unreachable" ? group.sinceMs : group.entries[0] && sinceOf(group.entries[0]);
  return (
    <>
      <span class="needs-digest" title={text}>
        <MarkedText text={text} isOfMachine />
      </span>
      {latest !== undefined && !HAS_NO_TIME.has(group.kind) && (
        <span class="needs-since quiet">
          <Time at={latest} form="since" />
        </span>
      )}
    </>
  );
}

/** The groups of ready machines: the index does not know when their problems began. */
const HAS_NO_TIME: ReadonlySet<NeedsKind> = new Set(["conditions", "skewed"]);

function GroupSign({ kind }: { kind: NeedsKind }) {
  if (kind === "skewed") return <span class="needs-clock" aria-hidden="true" />;
  if (kind !== "conditions") return <StateSign state={SIGNS[kind]} />;
  return (
    <span class="needs-warning" aria-hidden="true">
      ▲
    </span>
  );
}

function Entries({ group }: { group: NeedsGroup }) {
  if (group.kind === "cluster-unreachable")
    return (
      <ul class="needs-lines">
        <UnwrittenLine unwritten={group} />
      </ul>
    );
  const more = group.count - group.entries.length;
  return (
    <ul class="needs-lines">
      {linesOf(group)}
      {more > 0 && (
        <li class="needs-more">
          <More kind={group.kind}>and {more.toLocaleString("en")} more</More>
        </li>
      )}
    </ul>
  );
}

function linesOf(group: Exclude<NeedsGroup, { kind: "cluster-unreachable" }>): ComponentChildren {
  const { kind } = group;
  if (kind === "outage")
    return group.entries.map((entry) => <OutageEntry key={keyOf(kind, entry)} entry={entry} />);
  if (kind === "pending")
    return group.entries.map((entry) => <PendingLine key={keyOf(kind, entry)} pending={entry} />);
  return group.entries.map((entry) => <MachineLine key={keyOf(kind, entry)} group={kind} machine={entry} />);
}

function More({ kind, children }: { kind: NeedsKind; children: ComponentChildren }) {
  // No search term selects all machines with wrong conditions, so the text is no link.
  if (kind === "conditions") return <span class="quiet">{children}</span>;
  if (kind === "pending") return <Link href={hrefOf({ view: "approvals" })}>{children}</Link>;
  const shows = kind === "skewed" ? { sort: "-skew" } : { state: SIGNS[kind] };
  return <TableLink shows={shows}>{children}</TableLink>;
}

interface LineProps {
  state: string;
  /** When the problem began, in milliseconds since 1970. null if not known. */
  sinceMs: number | null;
  /** The name, as a link. */
  name: ComponentChildren;
  /** The reason and the remedy. */
  children: ComponentChildren;
}

function Line({ state, sinceMs, name, children }: LineProps) {
  return (
    <li class="needs-line">
      <span class="needs-name">
        <StateSign state={state} /> {name}
      </span>
      <span class="needs-since quiet">{sinceMs !== null && <Time at={sinceMs} form="since" />}</span>
      {children}
    </li>
  );
}

function MachineLine({ group, machine }: { group: MachineGroup; machine: FeedMachine }) {
  const { name, state, phase } = machine;
  // While the apiserver is away, the state begins with the apiserver's failure, and not with the machine's fault.
  const isUnwritten = state === "cluster-unreachable";
  return (
    <Line
      state={isUnwritten ? SIGNS[group] : state}
      sinceMs={state === "ready" || isUnwritten ? null : sinceOf(machine)}
      name={
        <Link href={hrefOf({ machine: name })} title={name}>
          {name}
        </Link>
      }
    >
      <TodoFold of={name} todo={<TodoText group={group} machine={machine} />}>
        {group === "blocked" && phase !== null && <strong>{phase}: </strong>}
        <MarkedText text={whyOf(group, machine)} isOfMachine />
      </TodoFold>
    </Line>
  );
}

function PendingLine({ pending }: { pending: PendingMachine }) {
  return (
    <Line
      state="pending"
      sinceMs={sinceOf(pending)}
      name={<Link href={hrefOf({ view: "approvals" })}>{pending.name}</Link>}
    >
      <TodoFold of={pending.name} todo={null}>
        {pendingText(pending)}
      </TodoFold>
    </Line>
  );
}

/** Draws one line for all machines whose Nodes the Worker cannot write. */
function UnwrittenLine({ unwritten: { count, sinceMs, phases } }: { unwritten: Unwritten }) {
  const state = "cluster-unreachable";
  const checks = <Link href={hrefOf({ view: "deployment" })}>the deployment’s checks</Link>;
  return (
    <Line
      state={state}
      sinceMs={sinceMs}
      name={<TableLink shows={{ state }}>{counted(count, "machine")}</TableLink>}
    >
      <TodoFold
        of="the cluster"
        todo={
          <>
            See {checks}: {UNWRITTEN_TODO}
          </>
        }
      >
        {phases.map(({ phase, count, why }) => (
          <span key={phase} class="needs-phase">
            {phase !== "" && <strong>{phase}: </strong>}
            {why === "" ? "the Worker cannot write to the apiserver" : <MarkedText text={why} isOfMachine />}
            {phases.length > 1 && <span class="quiet"> ({counted(count, "machine")})</span>}
          </span>
        ))}
      </TodoFold>
    </Line>
  );
}

interface TodoFoldProps {
  /** The subject of the remedy, for screen readers. */
  of: string;
  /** The remedy. null for no text. */
  todo: ComponentChildren;
  /** The reason. */
  children: ComponentChildren;
}

/** Draws three cells of a line: the reason, a button, and below them the remedy. */
function TodoFold({ of, todo, children }: TodoFoldProps) {
  const isOpen = useSignal(false);
  const id = useId();
  const why = <span class="needs-why">{children}</span>;
  if (todo === null) return why;
  return (
    <>
      {why}
      <button
        type="button"
        class="plain needs-todo"
        aria-expanded={isOpen.value}
        aria-controls={id}
        aria-label={`What to do about ${of}`}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        What to do
      </button>
      <div class="needs-cure" id={id} hidden={!isOpen.value}>
        {isOpen.value && todo}
      </div>
    </>
  );
}
