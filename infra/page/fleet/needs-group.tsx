// One group of what needs somebody: its heading with a count, and its lines. Decides nothing.
import type { ComponentChildren } from "preact";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import { hrefOf } from "../base/route.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import { Link } from "../parts/link.tsx";
import { MarkedText } from "../parts/marked-text.tsx";
import { StateSign } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import {
  keyOf,
  type MachineGroup,
  type NeedsGroup,
  type NeedsKind,
  sinceOf,
  type Unwritten,
} from "./needs-list.ts";
import type { TodoTextProps } from "./needs-todo-text.tsx";
import { OutageEntry } from "./needs-outage.tsx";
import { CureFold, TableLink } from "./needs-text.tsx";
import {
  counted,
  NEEDS_HEADINGS,
  NEEDS_MEANINGS,
  pendingText,
  UNWRITTEN_TODO,
  whyOf,
} from "./needs-words.ts";

/** Its texts are long, and seldom read. */
const TodoText = lazyView<TodoTextProps>(async () => (await import("./needs-todo-text.tsx")).TodoText);

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

export function GroupSection({ group, isOpen, onFold }: GroupSectionProps) {
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
      </summary>
      <Entries group={group} />
    </details>
  );
}

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
  // No term of a search has all of these.
  if (kind === "conditions") return <span class="quiet">{children}</span>;
  if (kind === "pending") return <Link href={hrefOf({ view: "approvals" })}>{children}</Link>;
  const shows = kind === "skewed" ? { sort: "-skew" } : { state: SIGNS[kind] };
  return <TableLink shows={shows}>{children}</TableLink>;
}

interface LineProps {
  state: string;
  /** Since when what is wrong is so; null: nobody tells. */
  sinceMs: number | null;
  /** A link. */
  name: ComponentChildren;
  /** Why, and what to do. */
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
  return (
    <Line
      state={state}
      sinceMs={state === "ready" ? null : sinceOf(machine)}
      name={
        <Link href={hrefOf({ machine: name })} title={name}>
          {name}
        </Link>
      }
    >
      <CureFold of={name} cure={<TodoText group={group} machine={machine} />}>
        {group === "blocked" && phase !== null && <strong>{phase}: </strong>}
        <MarkedText text={whyOf(group, machine)} isOfMachine />
      </CureFold>
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
      <CureFold of={pending.name} cure={null}>
        {pendingText(pending)}
      </CureFold>
    </Line>
  );
}

/** One for all: nothing is wrong with the machines. */
function UnwrittenLine({ unwritten: { count, sinceMs, phases } }: { unwritten: Unwritten }) {
  const state = "cluster-unreachable";
  const checks = <Link href={hrefOf({ view: "deployment" })}>the deployment’s checks</Link>;
  return (
    <Line
      state={state}
      sinceMs={sinceMs}
      name={<TableLink shows={{ state }}>{counted(count, "machine")}</TableLink>}
    >
      <CureFold
        of="the cluster"
        cure={
          <>
            Nothing is wrong with the machines. See {checks}: {UNWRITTEN_TODO}
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
      </CureFold>
    </Line>
  );
}
